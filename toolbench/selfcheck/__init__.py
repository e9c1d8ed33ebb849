"""Proof, without a network, that the bench measures models and not itself."""
