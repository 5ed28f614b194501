"""Screens: panes that are composed once and painted from the state on a frame clock."""
