"""Protobuf modules made from proto/openintent/v1 by scripts/generate-python.sh; never edited by hand."""
