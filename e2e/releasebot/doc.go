// Package releasebot runs an agent of the Python SDK, which takes part in the stories of other packages. release_bot.py is the agent.
package releasebot
