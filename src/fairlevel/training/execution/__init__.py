"""How a grid is executed, apart from the maths: threads, CUDA graphs."""
