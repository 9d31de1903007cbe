"""Radial terms: functions of the distance to a centre, under a metric that they share."""
