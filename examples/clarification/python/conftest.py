pytest_plugins = ["openintent_channels.testing"]
