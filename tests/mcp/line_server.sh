# A server for places that have a shell and nothing else: `sh line_server.sh`, a line for each message.
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
words() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}],\"isError\":false}"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object"}}' "$1" "$1"; }
echo "a word to whoever started it"
echo "it begins" >&2
while read -r line; do
  id=${line##*'"id":'}; id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*)
      able='{"tools":{}}'; info='{"name":"lines","version":"1"}'
      answer "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":$able,\"serverInfo\":$info}";;
    *'"tools/list"'*) answer "{\"tools\":[$(tool where),$(tool die),$(tool wait),$(tool given)]}";;
    *'"name":"where"'*) words "$(pwd)";;
    *'"name":"given"'*) words "$(env | cut -d= -f1 | sort | tr '\n' ' ')";;
    *'"name":"die"'*) echo "out of ink, token $LINES_TOKEN" >&2; exit 3;;
    *'"name":"wait"'*) echo waits >waits;;
  esac
done
