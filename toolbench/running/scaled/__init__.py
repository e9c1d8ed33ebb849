"""Playing on the workers of a cluster: who sends attempts there, who plays them, who may send a request."""
