"""What planners are told and decide by: the vans that each city needs, and the morning message."""
