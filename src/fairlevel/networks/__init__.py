"""C small networks as one tensor: forward, pullback, optimisers."""
