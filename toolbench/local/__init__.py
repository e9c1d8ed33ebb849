"""A real model on this machine: llama.cpp as a child process, with weights pinned by their SHA-256."""
