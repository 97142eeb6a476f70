"""From orders to daily demand, and from daily demand to panels."""
