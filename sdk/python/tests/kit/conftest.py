"""The fixtures of the test kit, as the tests of agents have them."""

pytest_plugins = ["openintent_channels.testing"]
