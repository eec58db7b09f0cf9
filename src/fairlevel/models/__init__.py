"""What predicts: members and their proportions, as one object, as files and as an ONNX graph."""
