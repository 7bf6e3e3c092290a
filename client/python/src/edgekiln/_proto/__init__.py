"""Messages of the API, made when the wheel is built (build_protos.py)."""
