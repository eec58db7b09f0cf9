"""Many small networks as one tensor: predictions, gradients and optimisers."""
