CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.daily_counts (
    depot_id text NOT NULL,
    service_on date NOT NULL,
    orders bigint,
    file_id bigint NOT NULL,
    CONSTRAINT ck_daily_counts_ck_daily_counts_orders CHECK ((orders >= 0))
);
CREATE TABLE public.demand_versions (
    depot_id text NOT NULL,
    service_on date NOT NULL,
    version integer NOT NULL,
    orders bigint,
    known_at timestamp with time zone NOT NULL,
    superseded_at timestamp with time zone,
    recorded_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ck_demand_versions_ck_demand_versions_orders CHECK ((orders >= 0))
);
CREATE TABLE public.depots (
    depot_id text NOT NULL,
    name text NOT NULL,
    city text NOT NULL,
    timezone text NOT NULL,
    country text NOT NULL,
    subdivision text,
    vans integer,
    opened_on date,
    closed_on date,
    closed_weekdays smallint[] DEFAULT '{}'::smallint[] NOT NULL,
    is_complete boolean NOT NULL,
    CONSTRAINT ck_depots_ck_depots_depot_id CHECK ((depot_id <> ''::text)),
    CONSTRAINT ck_depots_ck_depots_vans CHECK ((vans >= 0))
);
CREATE TABLE public.events (
    event_id bigint NOT NULL,
    kind text NOT NULL,
    starts_on date NOT NULL,
    ends_on date NOT NULL,
    city text,
    depot_id text,
    value double precision,
    known_from date,
    file_id bigint NOT NULL,
    CONSTRAINT ck_events_ck_events_order CHECK ((ends_on >= starts_on)),
    CONSTRAINT ck_events_ck_events_scope CHECK (((city IS NULL) OR (depot_id IS NULL)))
);
ALTER TABLE public.events ALTER COLUMN event_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.files (
    file_id bigint NOT NULL,
    path text NOT NULL,
    sha256 text NOT NULL,
    reading text NOT NULL,
    kind text NOT NULL,
    size_bytes bigint NOT NULL,
    accepted bigint NOT NULL,
    unchanged bigint NOT NULL,
    rejected bigint NOT NULL,
    ignored_columns text[] NOT NULL,
    loaded_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ck_files_ck_files_kind CHECK ((kind = ANY (ARRAY['depots'::text, 'orders'::text, 'daily'::text, 'events'::text])))
);
ALTER TABLE public.files ALTER COLUMN file_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.files_file_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.forecasts (
    depot_id text NOT NULL,
    origin_on date NOT NULL,
    target_on date NOT NULL,
    model_version text NOT NULL,
    p10 double precision NOT NULL,
    p50 double precision NOT NULL,
    p90 double precision NOT NULL,
    basis text NOT NULL,
    is_live boolean NOT NULL,
    made_at timestamp with time zone NOT NULL,
    run_id bigint,
    CONSTRAINT ck_forecasts_ck_forecasts_basis CHECK ((basis = ANY (ARRAY['model'::text, 'similar'::text, 'closed'::text]))),
    CONSTRAINT ck_forecasts_ck_forecasts_future CHECK ((target_on > origin_on)),
    CONSTRAINT ck_forecasts_ck_forecasts_quantiles CHECK ((((0)::double precision <= p10) AND (p10 <= p50) AND (p50 <= p90)))
);
CREATE TABLE public.models (
    version text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    trained_through date NOT NULL,
    data_watermark text NOT NULL,
    filename text NOT NULL,
    sha256 text NOT NULL,
    seed bigint NOT NULL,
    role text NOT NULL,
    scores jsonb DEFAULT '{}'::jsonb NOT NULL,
    reason text,
    promoted_at timestamp with time zone,
    run_id bigint,
    CONSTRAINT ck_models_ck_models_role CHECK ((role = ANY (ARRAY['challenger'::text, 'champion'::text, 'retired'::text, 'rejected'::text, 'judge'::text])))
);
CREATE TABLE public.orders (
    order_id text NOT NULL,
    depot_id text NOT NULL,
    ordered_local timestamp without time zone NOT NULL,
    utc_offset_minutes smallint,
    file_id bigint NOT NULL
);
CREATE TABLE public.public_holidays (
    country text NOT NULL,
    subdivision text NOT NULL,
    day_on date NOT NULL,
    name text NOT NULL
);
CREATE TABLE public.quarantine (
    quarantine_id bigint NOT NULL,
    file_id bigint NOT NULL,
    line bigint,
    column_name text,
    value text,
    reason text NOT NULL,
    raw jsonb NOT NULL
);
ALTER TABLE public.quarantine ALTER COLUMN quarantine_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.quarantine_quarantine_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.runs (
    run_id bigint NOT NULL,
    parent_id bigint,
    step text NOT NULL,
    origin_on date,
    state text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    counts jsonb DEFAULT '{}'::jsonb NOT NULL,
    error text,
    CONSTRAINT ck_runs_ck_runs_state CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text, 'skipped'::text])))
);
ALTER TABLE public.runs ALTER COLUMN run_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.runs_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.scores (
    depot_id text NOT NULL,
    origin_on date NOT NULL,
    target_on date NOT NULL,
    model_version text NOT NULL,
    actual double precision NOT NULL,
    p10 double precision NOT NULL,
    p50 double precision NOT NULL,
    p90 double precision NOT NULL,
    seasonal_naive double precision,
    median4 double precision,
    is_live boolean NOT NULL,
    scored_at timestamp with time zone DEFAULT now() NOT NULL
);
INSERT INTO public.alembic_version VALUES
	('0001');
INSERT INTO public.daily_counts VALUES
	('LIS', '2024-02-05', 4, 2),
	('LIS', '2024-02-06', 5, 2),
	('LIS', '2024-02-07', NULL, 2),
	('LIS', '2024-02-08', 7, 2),
	('LIS', '2024-02-09', 8, 2),
	('LIS', '2024-02-10', 9, 2),
	('LIS', '2024-02-11', 10, 2);
INSERT INTO public.demand_versions VALUES
	('RTM', '2024-01-26', 1, 4, '2024-01-27 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-21', 1, 5, '2024-01-22 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-24', 1, 4, '2024-01-25 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-22', 1, 2, '2024-01-23 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-02', 1, 3, '2024-01-03 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-15', 1, 5, '2024-01-16 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-27', 1, 5, '2024-01-28 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-17', 1, 3, '2024-01-18 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-30', 1, 4, '2024-01-31 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-23', 1, 4, '2024-01-24 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-02-02', 1, 4, '2024-02-03 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-01', 1, 2, '2024-01-02 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-02-01', 1, 4, '2024-02-02 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-30', 1, 5, '2024-01-31 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-02-04', 1, 4, '2024-02-05 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-12', 1, 4, '2024-01-13 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-04', 1, 2, '2024-01-05 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-25', 1, 2, '2024-01-26 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-01', 1, 3, '2024-01-02 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-06', 1, 5, '2024-01-07 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-03', 1, 5, '2024-01-04 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-08', 1, 3, '2024-01-09 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-10', 1, 2, '2024-01-11 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-13', 1, 2, '2024-01-14 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-24', 1, 5, '2024-01-25 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-29', 1, 4, '2024-01-30 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-28', 1, 3, '2024-01-29 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-02-03', 1, 3, '2024-02-04 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-28', 1, 2, '2024-01-29 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-02', 1, 4, '2024-01-03 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-05', 1, 4, '2024-01-06 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-19', 1, 2, '2024-01-20 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-14', 1, 4, '2024-01-15 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-22', 1, 3, '2024-01-23 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-09', 1, 4, '2024-01-10 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-31', 1, 3, '2024-02-01 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-13', 1, 3, '2024-01-14 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-07', 1, 3, '2024-01-08 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-19', 1, 3, '2024-01-20 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-29', 1, 3, '2024-01-30 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-05', 1, 3, '2024-01-06 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-31', 1, 2, '2024-02-01 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-18', 1, 4, '2024-01-19 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-10', 1, 3, '2024-01-11 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-02-04', 1, 3, '2024-02-05 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-09', 1, 5, '2024-01-10 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-14', 1, 3, '2024-01-15 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-25', 1, 3, '2024-01-26 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-15', 1, 4, '2024-01-16 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-26', 1, 3, '2024-01-27 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-18', 1, 5, '2024-01-19 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-23', 1, 3, '2024-01-24 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-20', 1, 4, '2024-01-21 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-11', 1, 3, '2024-01-12 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-27', 1, 4, '2024-01-28 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-17', 1, 4, '2024-01-18 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-02-03', 1, 2, '2024-02-04 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-21', 1, 4, '2024-01-22 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-06', 1, 4, '2024-01-07 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-04', 1, 3, '2024-01-05 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-11', 1, 4, '2024-01-12 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-16', 1, 3, '2024-01-17 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-02-01', 1, 3, '2024-02-02 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-03', 1, 4, '2024-01-04 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-12', 1, 5, '2024-01-13 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-07', 1, 2, '2024-01-08 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-02-02', 1, 5, '2024-02-03 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-20', 1, 3, '2024-01-21 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-16', 1, 2, '2024-01-17 04:00:00+00', NULL, '2024-02-05 04:31:00+00'),
	('RTM', '2024-01-08', 1, 4, '2024-01-09 04:00:00+00', NULL, '2024-02-05 04:31:00+00');
INSERT INTO public.depots VALUES
	('RTM', 'Rotterdam', 'Rotterdam', 'Europe/Amsterdam', 'NL', NULL, NULL, NULL, NULL, '{7}', true),
	('LIS', 'Lisbon', 'Lisbon', 'Europe/Lisbon', 'PT', NULL, NULL, NULL, NULL, '{}', false);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(1, 'closed', '2024-01-20', '2024-01-21', 'Lisbon', NULL, NULL, NULL, 1),
	(2, 'promotion', '2024-02-01', '2024-02-03', NULL, NULL, 1.5, '2024-01-15', 1);
INSERT INTO public.files OVERRIDING SYSTEM VALUE VALUES
	(1, 'orders.csv', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'orders', 9000, 200, 3, 1, '{note}', '2024-02-05 03:00:00+00'),
	(2, 'daily.csv', 'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'daily', 90, 7, 0, 0, '{}', '2024-02-05 03:00:00+00');
INSERT INTO public.forecasts VALUES
	('RTM', '2024-02-04', '2024-02-05', '20240131-0a1b2c3d', 1, 2.5, 5, 'model', true, '2024-02-05 04:33:00+00', 1),
	('LIS', '2024-02-04', '2024-02-05', '20240131-0a1b2c3d', 1, 2.5, 5, 'model', true, '2024-02-05 04:33:00+00', 1),
	('RTM', '2024-02-04', '2024-02-06', '20240131-0a1b2c3d', 1, 2.5, 6, 'model', true, '2024-02-05 04:33:00+00', 1),
	('LIS', '2024-02-04', '2024-02-06', '20240131-0a1b2c3d', 1, 2.5, 6, 'model', true, '2024-02-05 04:33:00+00', 1),
	('RTM', '2024-02-04', '2024-02-07', '20240131-0a1b2c3d', 1, 2.5, 7, 'model', true, '2024-02-05 04:33:00+00', 1),
	('LIS', '2024-02-04', '2024-02-07', '20240131-0a1b2c3d', 1, 2.5, 7, 'model', true, '2024-02-05 04:33:00+00', 1),
	('RTM', '2024-02-04', '2024-02-08', '20240131-0a1b2c3d', 1, 2.5, 8, 'model', true, '2024-02-05 04:33:00+00', 1),
	('LIS', '2024-02-04', '2024-02-08', '20240131-0a1b2c3d', 1, 2.5, 8, 'model', true, '2024-02-05 04:33:00+00', 1),
	('RTM', '2024-02-04', '2024-02-09', '20240131-0a1b2c3d', 1, 2.5, 9, 'model', true, '2024-02-05 04:33:00+00', 1),
	('LIS', '2024-02-04', '2024-02-09', '20240131-0a1b2c3d', 1, 2.5, 9, 'model', true, '2024-02-05 04:33:00+00', 1),
	('RTM', '2024-02-04', '2024-02-10', '20240131-0a1b2c3d', 1, 2.5, 10, 'model', true, '2024-02-05 04:33:00+00', 1),
	('LIS', '2024-02-04', '2024-02-10', '20240131-0a1b2c3d', 1, 2.5, 10, 'model', true, '2024-02-05 04:33:00+00', 1),
	('RTM', '2024-02-04', '2024-02-11', '20240131-0a1b2c3d', 1, 2.5, 11, 'model', true, '2024-02-05 04:33:00+00', 1),
	('LIS', '2024-02-04', '2024-02-11', '20240131-0a1b2c3d', 1, 2.5, 11, 'model', true, '2024-02-05 04:33:00+00', 1);
INSERT INTO public.models VALUES
	('20240131-0a1b2c3d', '2024-02-01 04:40:00+00', '2024-01-31', 'w', 'm.npz', 'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd', 7, 'champion', '{"models": {"gru": {"mape": 8.5}}}', 'It is the first model.', '2024-02-01 04:41:00+00', 1);
INSERT INTO public.orders VALUES
	('RTM-0-1', 'RTM', '2024-01-01 10:00:00', NULL, 1),
	('RTM-0-2', 'RTM', '2024-01-01 11:00:00', NULL, 1),
	('RTM-0-3', 'RTM', '2024-01-01 12:00:00', NULL, 1),
	('RTM-1-1', 'RTM', '2024-01-02 10:00:00', NULL, 1),
	('RTM-1-2', 'RTM', '2024-01-02 11:00:00', NULL, 1),
	('RTM-1-3', 'RTM', '2024-01-02 12:00:00', NULL, 1),
	('RTM-1-4', 'RTM', '2024-01-02 13:00:00', NULL, 1),
	('RTM-2-1', 'RTM', '2024-01-03 10:00:00', NULL, 1),
	('RTM-2-2', 'RTM', '2024-01-03 11:00:00', NULL, 1),
	('RTM-2-3', 'RTM', '2024-01-03 12:00:00', NULL, 1),
	('RTM-2-4', 'RTM', '2024-01-03 13:00:00', NULL, 1),
	('RTM-2-5', 'RTM', '2024-01-03 14:00:00', NULL, 1),
	('RTM-3-1', 'RTM', '2024-01-04 10:00:00', NULL, 1),
	('RTM-3-2', 'RTM', '2024-01-04 11:00:00', NULL, 1),
	('RTM-3-3', 'RTM', '2024-01-04 12:00:00', NULL, 1),
	('RTM-4-1', 'RTM', '2024-01-05 10:00:00', NULL, 1),
	('RTM-4-2', 'RTM', '2024-01-05 11:00:00', NULL, 1),
	('RTM-4-3', 'RTM', '2024-01-05 12:00:00', NULL, 1),
	('RTM-4-4', 'RTM', '2024-01-05 13:00:00', NULL, 1),
	('RTM-5-1', 'RTM', '2024-01-06 10:00:00', NULL, 1),
	('RTM-5-2', 'RTM', '2024-01-06 11:00:00', NULL, 1),
	('RTM-5-3', 'RTM', '2024-01-06 12:00:00', NULL, 1),
	('RTM-5-4', 'RTM', '2024-01-06 13:00:00', NULL, 1),
	('RTM-5-5', 'RTM', '2024-01-06 14:00:00', NULL, 1),
	('RTM-6-1', 'RTM', '2024-01-07 10:00:00', NULL, 1),
	('RTM-6-2', 'RTM', '2024-01-07 11:00:00', NULL, 1),
	('RTM-6-3', 'RTM', '2024-01-07 12:00:00', NULL, 1),
	('RTM-7-1', 'RTM', '2024-01-08 10:00:00', NULL, 1),
	('RTM-7-2', 'RTM', '2024-01-08 11:00:00', NULL, 1),
	('RTM-7-3', 'RTM', '2024-01-08 12:00:00', NULL, 1),
	('RTM-7-4', 'RTM', '2024-01-08 13:00:00', NULL, 1),
	('RTM-8-1', 'RTM', '2024-01-09 10:00:00', NULL, 1),
	('RTM-8-2', 'RTM', '2024-01-09 11:00:00', NULL, 1),
	('RTM-8-3', 'RTM', '2024-01-09 12:00:00', NULL, 1),
	('RTM-8-4', 'RTM', '2024-01-09 13:00:00', NULL, 1),
	('RTM-8-5', 'RTM', '2024-01-09 14:00:00', NULL, 1),
	('RTM-9-1', 'RTM', '2024-01-10 10:00:00', NULL, 1),
	('RTM-9-2', 'RTM', '2024-01-10 11:00:00', NULL, 1),
	('RTM-9-3', 'RTM', '2024-01-10 12:00:00', NULL, 1),
	('RTM-10-1', 'RTM', '2024-01-11 10:00:00', NULL, 1),
	('RTM-10-2', 'RTM', '2024-01-11 11:00:00', NULL, 1),
	('RTM-10-3', 'RTM', '2024-01-11 12:00:00', NULL, 1),
	('RTM-10-4', 'RTM', '2024-01-11 13:00:00', NULL, 1),
	('RTM-11-1', 'RTM', '2024-01-12 10:00:00', NULL, 1),
	('RTM-11-2', 'RTM', '2024-01-12 11:00:00', NULL, 1),
	('RTM-11-3', 'RTM', '2024-01-12 12:00:00', NULL, 1),
	('RTM-11-4', 'RTM', '2024-01-12 13:00:00', NULL, 1),
	('RTM-11-5', 'RTM', '2024-01-12 14:00:00', NULL, 1),
	('RTM-12-1', 'RTM', '2024-01-13 10:00:00', NULL, 1),
	('RTM-12-2', 'RTM', '2024-01-13 11:00:00', NULL, 1),
	('RTM-12-3', 'RTM', '2024-01-13 12:00:00', NULL, 1),
	('RTM-13-1', 'RTM', '2024-01-14 10:00:00', NULL, 1),
	('RTM-13-2', 'RTM', '2024-01-14 11:00:00', NULL, 1),
	('RTM-13-3', 'RTM', '2024-01-14 12:00:00', NULL, 1),
	('RTM-13-4', 'RTM', '2024-01-14 13:00:00', NULL, 1),
	('RTM-14-1', 'RTM', '2024-01-15 10:00:00', NULL, 1),
	('RTM-14-2', 'RTM', '2024-01-15 11:00:00', NULL, 1),
	('RTM-14-3', 'RTM', '2024-01-15 12:00:00', NULL, 1),
	('RTM-14-4', 'RTM', '2024-01-15 13:00:00', NULL, 1),
	('RTM-14-5', 'RTM', '2024-01-15 14:00:00', NULL, 1),
	('RTM-15-1', 'RTM', '2024-01-16 10:00:00', NULL, 1),
	('RTM-15-2', 'RTM', '2024-01-16 11:00:00', NULL, 1),
	('RTM-15-3', 'RTM', '2024-01-16 12:00:00', NULL, 1),
	('RTM-16-1', 'RTM', '2024-01-17 10:00:00', NULL, 1),
	('RTM-16-2', 'RTM', '2024-01-17 11:00:00', NULL, 1),
	('RTM-16-3', 'RTM', '2024-01-17 12:00:00', NULL, 1),
	('RTM-16-4', 'RTM', '2024-01-17 13:00:00', NULL, 1),
	('RTM-17-1', 'RTM', '2024-01-18 10:00:00', NULL, 1),
	('RTM-17-2', 'RTM', '2024-01-18 11:00:00', NULL, 1),
	('RTM-17-3', 'RTM', '2024-01-18 12:00:00', NULL, 1),
	('RTM-17-4', 'RTM', '2024-01-18 13:00:00', NULL, 1),
	('RTM-17-5', 'RTM', '2024-01-18 14:00:00', NULL, 1),
	('RTM-18-1', 'RTM', '2024-01-19 10:00:00', NULL, 1),
	('RTM-18-2', 'RTM', '2024-01-19 11:00:00', NULL, 1),
	('RTM-18-3', 'RTM', '2024-01-19 12:00:00', NULL, 1),
	('RTM-19-1', 'RTM', '2024-01-20 10:00:00', NULL, 1),
	('RTM-19-2', 'RTM', '2024-01-20 11:00:00', NULL, 1),
	('RTM-19-3', 'RTM', '2024-01-20 12:00:00', NULL, 1),
	('RTM-19-4', 'RTM', '2024-01-20 13:00:00', NULL, 1),
	('RTM-20-1', 'RTM', '2024-01-21 10:00:00', NULL, 1),
	('RTM-20-2', 'RTM', '2024-01-21 11:00:00', NULL, 1),
	('RTM-20-3', 'RTM', '2024-01-21 12:00:00', NULL, 1),
	('RTM-20-4', 'RTM', '2024-01-21 13:00:00', NULL, 1),
	('RTM-20-5', 'RTM', '2024-01-21 14:00:00', NULL, 1),
	('RTM-21-1', 'RTM', '2024-01-22 10:00:00', NULL, 1),
	('RTM-21-2', 'RTM', '2024-01-22 11:00:00', NULL, 1),
	('RTM-21-3', 'RTM', '2024-01-22 12:00:00', NULL, 1),
	('RTM-22-1', 'RTM', '2024-01-23 10:00:00', NULL, 1),
	('RTM-22-2', 'RTM', '2024-01-23 11:00:00', NULL, 1),
	('RTM-22-3', 'RTM', '2024-01-23 12:00:00', NULL, 1),
	('RTM-22-4', 'RTM', '2024-01-23 13:00:00', NULL, 1),
	('RTM-23-1', 'RTM', '2024-01-24 10:00:00', NULL, 1),
	('RTM-23-2', 'RTM', '2024-01-24 11:00:00', NULL, 1),
	('RTM-23-3', 'RTM', '2024-01-24 12:00:00', NULL, 1),
	('RTM-23-4', 'RTM', '2024-01-24 13:00:00', NULL, 1),
	('RTM-23-5', 'RTM', '2024-01-24 14:00:00', NULL, 1),
	('RTM-24-1', 'RTM', '2024-01-25 10:00:00', NULL, 1),
	('RTM-24-2', 'RTM', '2024-01-25 11:00:00', NULL, 1),
	('RTM-24-3', 'RTM', '2024-01-25 12:00:00', NULL, 1),
	('RTM-25-1', 'RTM', '2024-01-26 10:00:00', NULL, 1);
INSERT INTO public.orders VALUES
	('RTM-25-2', 'RTM', '2024-01-26 11:00:00', NULL, 1),
	('RTM-25-3', 'RTM', '2024-01-26 12:00:00', NULL, 1),
	('RTM-25-4', 'RTM', '2024-01-26 13:00:00', NULL, 1),
	('RTM-26-1', 'RTM', '2024-01-27 10:00:00', NULL, 1),
	('RTM-26-2', 'RTM', '2024-01-27 11:00:00', NULL, 1),
	('RTM-26-3', 'RTM', '2024-01-27 12:00:00', NULL, 1),
	('RTM-26-4', 'RTM', '2024-01-27 13:00:00', NULL, 1),
	('RTM-26-5', 'RTM', '2024-01-27 14:00:00', NULL, 1),
	('RTM-27-1', 'RTM', '2024-01-28 10:00:00', NULL, 1),
	('RTM-27-2', 'RTM', '2024-01-28 11:00:00', NULL, 1),
	('RTM-27-3', 'RTM', '2024-01-28 12:00:00', NULL, 1),
	('RTM-28-1', 'RTM', '2024-01-29 10:00:00', NULL, 1),
	('RTM-28-2', 'RTM', '2024-01-29 11:00:00', NULL, 1),
	('RTM-28-3', 'RTM', '2024-01-29 12:00:00', NULL, 1),
	('RTM-28-4', 'RTM', '2024-01-29 13:00:00', NULL, 1),
	('RTM-29-1', 'RTM', '2024-01-30 10:00:00', NULL, 1),
	('RTM-29-2', 'RTM', '2024-01-30 11:00:00', NULL, 1),
	('RTM-29-3', 'RTM', '2024-01-30 12:00:00', NULL, 1),
	('RTM-29-4', 'RTM', '2024-01-30 13:00:00', NULL, 1),
	('RTM-29-5', 'RTM', '2024-01-30 14:00:00', NULL, 1),
	('RTM-30-1', 'RTM', '2024-01-31 10:00:00', NULL, 1),
	('RTM-30-2', 'RTM', '2024-01-31 11:00:00', NULL, 1),
	('RTM-30-3', 'RTM', '2024-01-31 12:00:00', NULL, 1),
	('RTM-31-1', 'RTM', '2024-02-01 10:00:00', NULL, 1),
	('RTM-31-2', 'RTM', '2024-02-01 11:00:00', NULL, 1),
	('RTM-31-3', 'RTM', '2024-02-01 12:00:00', NULL, 1),
	('RTM-31-4', 'RTM', '2024-02-01 13:00:00', NULL, 1),
	('RTM-32-1', 'RTM', '2024-02-02 10:00:00', NULL, 1),
	('RTM-32-2', 'RTM', '2024-02-02 11:00:00', NULL, 1),
	('RTM-32-3', 'RTM', '2024-02-02 12:00:00', NULL, 1),
	('RTM-32-4', 'RTM', '2024-02-02 13:00:00', NULL, 1),
	('RTM-32-5', 'RTM', '2024-02-02 14:00:00', NULL, 1),
	('RTM-33-1', 'RTM', '2024-02-03 10:00:00', NULL, 1),
	('RTM-33-2', 'RTM', '2024-02-03 11:00:00', NULL, 1),
	('RTM-33-3', 'RTM', '2024-02-03 12:00:00', NULL, 1),
	('RTM-34-1', 'RTM', '2024-02-04 10:00:00', NULL, 1),
	('RTM-34-2', 'RTM', '2024-02-04 11:00:00', NULL, 1),
	('RTM-34-3', 'RTM', '2024-02-04 12:00:00', NULL, 1),
	('RTM-34-4', 'RTM', '2024-02-04 13:00:00', NULL, 1),
	('LIS-0-1', 'LIS', '2024-01-01 10:00:00', 0, 1),
	('LIS-0-2', 'LIS', '2024-01-01 11:00:00', 0, 1),
	('LIS-1-1', 'LIS', '2024-01-02 10:00:00', 0, 1),
	('LIS-1-2', 'LIS', '2024-01-02 11:00:00', 0, 1),
	('LIS-1-3', 'LIS', '2024-01-02 12:00:00', 0, 1),
	('LIS-2-1', 'LIS', '2024-01-03 10:00:00', 0, 1),
	('LIS-2-2', 'LIS', '2024-01-03 11:00:00', 0, 1),
	('LIS-2-3', 'LIS', '2024-01-03 12:00:00', 0, 1),
	('LIS-2-4', 'LIS', '2024-01-03 13:00:00', 0, 1),
	('LIS-3-1', 'LIS', '2024-01-04 10:00:00', 0, 1),
	('LIS-3-2', 'LIS', '2024-01-04 11:00:00', 0, 1),
	('LIS-4-1', 'LIS', '2024-01-05 10:00:00', 0, 1),
	('LIS-4-2', 'LIS', '2024-01-05 11:00:00', 0, 1),
	('LIS-4-3', 'LIS', '2024-01-05 12:00:00', 0, 1),
	('LIS-5-1', 'LIS', '2024-01-06 10:00:00', 0, 1),
	('LIS-5-2', 'LIS', '2024-01-06 11:00:00', 0, 1),
	('LIS-5-3', 'LIS', '2024-01-06 12:00:00', 0, 1),
	('LIS-5-4', 'LIS', '2024-01-06 13:00:00', 0, 1),
	('LIS-6-1', 'LIS', '2024-01-07 10:00:00', 0, 1),
	('LIS-6-2', 'LIS', '2024-01-07 11:00:00', 0, 1),
	('LIS-7-1', 'LIS', '2024-01-08 10:00:00', 0, 1),
	('LIS-7-2', 'LIS', '2024-01-08 11:00:00', 0, 1),
	('LIS-7-3', 'LIS', '2024-01-08 12:00:00', 0, 1),
	('LIS-8-1', 'LIS', '2024-01-09 10:00:00', 0, 1),
	('LIS-8-2', 'LIS', '2024-01-09 11:00:00', 0, 1),
	('LIS-8-3', 'LIS', '2024-01-09 12:00:00', 0, 1),
	('LIS-8-4', 'LIS', '2024-01-09 13:00:00', 0, 1),
	('LIS-9-1', 'LIS', '2024-01-10 10:00:00', 0, 1),
	('LIS-9-2', 'LIS', '2024-01-10 11:00:00', 0, 1),
	('LIS-10-1', 'LIS', '2024-01-11 10:00:00', 0, 1),
	('LIS-10-2', 'LIS', '2024-01-11 11:00:00', 0, 1),
	('LIS-10-3', 'LIS', '2024-01-11 12:00:00', 0, 1),
	('LIS-11-1', 'LIS', '2024-01-12 10:00:00', 0, 1),
	('LIS-11-2', 'LIS', '2024-01-12 11:00:00', 0, 1),
	('LIS-11-3', 'LIS', '2024-01-12 12:00:00', 0, 1),
	('LIS-11-4', 'LIS', '2024-01-12 13:00:00', 0, 1),
	('LIS-12-1', 'LIS', '2024-01-13 10:00:00', 0, 1),
	('LIS-12-2', 'LIS', '2024-01-13 11:00:00', 0, 1),
	('LIS-13-1', 'LIS', '2024-01-14 10:00:00', 0, 1),
	('LIS-13-2', 'LIS', '2024-01-14 11:00:00', 0, 1),
	('LIS-13-3', 'LIS', '2024-01-14 12:00:00', 0, 1),
	('LIS-14-1', 'LIS', '2024-01-15 10:00:00', 0, 1),
	('LIS-14-2', 'LIS', '2024-01-15 11:00:00', 0, 1),
	('LIS-14-3', 'LIS', '2024-01-15 12:00:00', 0, 1),
	('LIS-14-4', 'LIS', '2024-01-15 13:00:00', 0, 1),
	('LIS-15-1', 'LIS', '2024-01-16 10:00:00', 0, 1),
	('LIS-15-2', 'LIS', '2024-01-16 11:00:00', 0, 1),
	('LIS-16-1', 'LIS', '2024-01-17 10:00:00', 0, 1),
	('LIS-16-2', 'LIS', '2024-01-17 11:00:00', 0, 1),
	('LIS-16-3', 'LIS', '2024-01-17 12:00:00', 0, 1),
	('LIS-17-1', 'LIS', '2024-01-18 10:00:00', 0, 1),
	('LIS-17-2', 'LIS', '2024-01-18 11:00:00', 0, 1),
	('LIS-17-3', 'LIS', '2024-01-18 12:00:00', 0, 1),
	('LIS-17-4', 'LIS', '2024-01-18 13:00:00', 0, 1),
	('LIS-18-1', 'LIS', '2024-01-19 10:00:00', 0, 1),
	('LIS-18-2', 'LIS', '2024-01-19 11:00:00', 0, 1),
	('LIS-19-1', 'LIS', '2024-01-20 10:00:00', 0, 1),
	('LIS-19-2', 'LIS', '2024-01-20 11:00:00', 0, 1),
	('LIS-19-3', 'LIS', '2024-01-20 12:00:00', 0, 1),
	('LIS-20-1', 'LIS', '2024-01-21 10:00:00', 0, 1),
	('LIS-20-2', 'LIS', '2024-01-21 11:00:00', 0, 1);
INSERT INTO public.orders VALUES
	('LIS-20-3', 'LIS', '2024-01-21 12:00:00', 0, 1),
	('LIS-20-4', 'LIS', '2024-01-21 13:00:00', 0, 1),
	('LIS-21-1', 'LIS', '2024-01-22 10:00:00', 0, 1),
	('LIS-21-2', 'LIS', '2024-01-22 11:00:00', 0, 1),
	('LIS-22-1', 'LIS', '2024-01-23 10:00:00', 0, 1),
	('LIS-22-2', 'LIS', '2024-01-23 11:00:00', 0, 1),
	('LIS-22-3', 'LIS', '2024-01-23 12:00:00', 0, 1),
	('LIS-23-1', 'LIS', '2024-01-24 10:00:00', 0, 1),
	('LIS-23-2', 'LIS', '2024-01-24 11:00:00', 0, 1),
	('LIS-23-3', 'LIS', '2024-01-24 12:00:00', 0, 1),
	('LIS-23-4', 'LIS', '2024-01-24 13:00:00', 0, 1),
	('LIS-24-1', 'LIS', '2024-01-25 10:00:00', 0, 1),
	('LIS-24-2', 'LIS', '2024-01-25 11:00:00', 0, 1),
	('LIS-25-1', 'LIS', '2024-01-26 10:00:00', 0, 1),
	('LIS-25-2', 'LIS', '2024-01-26 11:00:00', 0, 1),
	('LIS-25-3', 'LIS', '2024-01-26 12:00:00', 0, 1),
	('LIS-26-1', 'LIS', '2024-01-27 10:00:00', 0, 1),
	('LIS-26-2', 'LIS', '2024-01-27 11:00:00', 0, 1),
	('LIS-26-3', 'LIS', '2024-01-27 12:00:00', 0, 1),
	('LIS-26-4', 'LIS', '2024-01-27 13:00:00', 0, 1),
	('LIS-27-1', 'LIS', '2024-01-28 10:00:00', 0, 1),
	('LIS-27-2', 'LIS', '2024-01-28 11:00:00', 0, 1),
	('LIS-28-1', 'LIS', '2024-01-29 10:00:00', 0, 1),
	('LIS-28-2', 'LIS', '2024-01-29 11:00:00', 0, 1),
	('LIS-28-3', 'LIS', '2024-01-29 12:00:00', 0, 1),
	('LIS-29-1', 'LIS', '2024-01-30 10:00:00', 0, 1),
	('LIS-29-2', 'LIS', '2024-01-30 11:00:00', 0, 1),
	('LIS-29-3', 'LIS', '2024-01-30 12:00:00', 0, 1),
	('LIS-29-4', 'LIS', '2024-01-30 13:00:00', 0, 1),
	('LIS-30-1', 'LIS', '2024-01-31 10:00:00', 0, 1),
	('LIS-30-2', 'LIS', '2024-01-31 11:00:00', 0, 1),
	('LIS-31-1', 'LIS', '2024-02-01 10:00:00', 0, 1),
	('LIS-31-2', 'LIS', '2024-02-01 11:00:00', 0, 1),
	('LIS-31-3', 'LIS', '2024-02-01 12:00:00', 0, 1),
	('LIS-32-1', 'LIS', '2024-02-02 10:00:00', 0, 1),
	('LIS-32-2', 'LIS', '2024-02-02 11:00:00', 0, 1),
	('LIS-32-3', 'LIS', '2024-02-02 12:00:00', 0, 1),
	('LIS-32-4', 'LIS', '2024-02-02 13:00:00', 0, 1),
	('LIS-33-1', 'LIS', '2024-02-03 10:00:00', 0, 1),
	('LIS-33-2', 'LIS', '2024-02-03 11:00:00', 0, 1),
	('LIS-34-1', 'LIS', '2024-02-04 10:00:00', 0, 1),
	('LIS-34-2', 'LIS', '2024-02-04 11:00:00', 0, 1),
	('LIS-34-3', 'LIS', '2024-02-04 12:00:00', 0, 1);
INSERT INTO public.public_holidays VALUES
	('NL', '', '2024-01-01', 'New Year''s Day');
INSERT INTO public.quarantine OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 17, 'ordered_at', 'soon', 'is no time', '{"ordered_at": "soon"}');
INSERT INTO public.runs OVERRIDING SYSTEM VALUE VALUES
	(1, NULL, 'nightly', '2024-02-04', 'done', '2024-02-05 04:30:00+00', '2024-02-05 04:33:00+00', '2024-02-05 04:33:00+00', '{"origin": "2024-02-04"}', NULL),
	(2, 1, 'train', '2024-02-04', 'failed', '2024-02-05 04:31:00+00', '2024-02-05 04:32:00+00', '2024-02-05 04:32:00+00', '{}', 'Too little history.');
INSERT INTO public.scores VALUES
	('RTM', '2024-01-31', '2024-02-01', '20240131-0a1b2c3d', 4, 1, 2.5, 5, 3, NULL, true, '2024-02-05 04:31:00+00'),
	('LIS', '2024-01-31', '2024-02-01', '20240131-0a1b2c3d', 4, 1, 2.5, 5, 3, NULL, true, '2024-02-05 04:31:00+00');
SELECT pg_catalog.setval('public.events_event_id_seq', 2, true);
SELECT pg_catalog.setval('public.files_file_id_seq', 2, true);
SELECT pg_catalog.setval('public.quarantine_quarantine_id_seq', 1, true);
SELECT pg_catalog.setval('public.runs_run_id_seq', 2, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.daily_counts
    ADD CONSTRAINT pk_daily_counts PRIMARY KEY (depot_id, service_on);
ALTER TABLE ONLY public.demand_versions
    ADD CONSTRAINT pk_demand_versions PRIMARY KEY (depot_id, service_on, version);
ALTER TABLE ONLY public.depots
    ADD CONSTRAINT pk_depots PRIMARY KEY (depot_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT pk_events PRIMARY KEY (event_id);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT pk_files PRIMARY KEY (file_id);
ALTER TABLE ONLY public.forecasts
    ADD CONSTRAINT pk_forecasts PRIMARY KEY (depot_id, origin_on, target_on, model_version);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT pk_models PRIMARY KEY (version);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT pk_orders PRIMARY KEY (order_id);
ALTER TABLE ONLY public.public_holidays
    ADD CONSTRAINT pk_public_holidays PRIMARY KEY (country, subdivision, day_on);
ALTER TABLE ONLY public.quarantine
    ADD CONSTRAINT pk_quarantine PRIMARY KEY (quarantine_id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT pk_runs PRIMARY KEY (run_id);
ALTER TABLE ONLY public.scores
    ADD CONSTRAINT pk_scores PRIMARY KEY (depot_id, origin_on, target_on, model_version);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT uq_events_kind UNIQUE NULLS NOT DISTINCT (kind, starts_on, ends_on, city, depot_id);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT uq_files_sha256_reading UNIQUE (sha256, reading);
CREATE INDEX ix_demand_versions_service_on ON public.demand_versions USING btree (service_on);
CREATE INDEX ix_forecasts_origin_on ON public.forecasts USING btree (origin_on);
CREATE INDEX ix_forecasts_target_on ON public.forecasts USING btree (target_on);
CREATE INDEX ix_quarantine_file_id ON public.quarantine USING btree (file_id);
CREATE INDEX ix_runs_parent_id ON public.runs USING btree (parent_id);
CREATE INDEX ix_scores_target_on ON public.scores USING btree (target_on);
CREATE UNIQUE INDEX uq_demand_versions_current ON public.demand_versions USING btree (depot_id, service_on) WHERE (superseded_at IS NULL);
CREATE UNIQUE INDEX uq_models_champion ON public.models USING btree (role) WHERE (role = 'champion'::text);
ALTER TABLE ONLY public.forecasts
    ADD CONSTRAINT fk_forecasts_depot_id FOREIGN KEY (depot_id) REFERENCES public.depots(depot_id);
ALTER TABLE ONLY public.forecasts
    ADD CONSTRAINT fk_forecasts_model_version FOREIGN KEY (model_version) REFERENCES public.models(version);
ALTER TABLE ONLY public.forecasts
    ADD CONSTRAINT fk_forecasts_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT fk_models_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);
ALTER TABLE ONLY public.quarantine
    ADD CONSTRAINT fk_quarantine_file_id FOREIGN KEY (file_id) REFERENCES public.files(file_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT fk_runs_parent_id FOREIGN KEY (parent_id) REFERENCES public.runs(run_id);
ALTER TABLE ONLY public.scores
    ADD CONSTRAINT fk_scores_depot_id FOREIGN KEY (depot_id) REFERENCES public.depots(depot_id);
ALTER TABLE ONLY public.scores
    ADD CONSTRAINT fk_scores_model_version FOREIGN KEY (model_version) REFERENCES public.models(version);
