"""Models as ONNX."""
