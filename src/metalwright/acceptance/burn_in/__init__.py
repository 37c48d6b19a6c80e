"""Tests that load a node and measure it: the command of each, how its output is read, and what that output proves."""
