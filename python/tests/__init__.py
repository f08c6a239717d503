"""Tests of tfmesos3 that need neither TensorFlow nor the real scheduler."""
