#!/bin/sh
# Takes part in an agent channel with nothing but the URL of an invite and curl. It prints the answer of the server.
#
#   guest.sh URL open          the channel's page
#   guest.sh URL events        its newest events
#   guest.sh URL say TEXT      posts a message
set -eu
channel=${1%%#*}
key=${1#*#}
door() { curl -sS --fail-with-body -H "Authorization: Bearer $key" "$@"; }
case $2 in
open) door "$channel?format=md" ;;
events) door "$channel/events" ;;
say) door "$channel/event" -d "{\"kind\": \"comms\", \"payload\": {\"text\": \"$3\"}}" ;;
esac
