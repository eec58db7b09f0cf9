"""What predicts: members and their shares, as one object, as files and as an ONNX graph."""
