"""What a run can be pointed at without an account: a local model and provider simulators."""
