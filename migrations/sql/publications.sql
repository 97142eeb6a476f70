-- Which forecast is shown, and which one live accuracy scores. Everything that asks, asks here.

-- A forecast is shown from the moment it is published until another is.
create view shown_forecast as
select * from publications order by publication_id desc limit 1;

-- The forecast of each origin that counts in live accuracy: the one that was shown on the
-- morning after it. It is the last one published for the origin while that was the newest day
-- with demand, and at most 36 hours after its end; what is published later was shown when the
-- outcome could be known. One that was shown and then withdrawn with its rows still counts.
create view live_forecasts as
select distinct on (origin_on) * from publications
where is_live order by origin_on, publication_id desc;
