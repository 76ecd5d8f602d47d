"""A language model's server that follows a script, with every fault a test asks for.

    server.py SCRIPT.json                     prints its port; ends when its standard input does
    server.py SCRIPT.json -- COMMAND {url}    runs COMMAND with its address and exits as it does

SCRIPT is a list; each request takes the next step (after the last one: status 400). A step:
    text            the answer, sent in pieces
    stop            the reason to stop, in the words of the API asked (default: the normal end)
    usage           [input, output] tokens, or null for a server that does not tell
    stream          false: one JSON document
    status, headers, error, code    an error instead of an answer
    raw, content_type               this body as it is
    cut             "reset": closes the connection in the middle; "clean": ends the body there
    broken          a piece in the middle that is no JSON
    stream_error    the error event in the middle of the stream
    wait            seconds before the head;  pause: seconds between pieces
    echo_key        the answer (or the error) repeats the key that came
    expect          strings that must stand in the request's body
    repeat          true: this step stays, for every request from here on

Requests are checked strictly, and a bad one gets status 400 with the reason. GET /log has what came:
[{"path", "key", "seconds", "body"}].
"""
import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STEPS = []
LOG = []
LOCK = threading.Lock()


def pieces(text):
    return [text[i:i + 7] for i in range(0, len(text), 7)]


def fault_of_request(dialect, headers, body):
    """Why a request is not of the API, or None."""
    if headers.get("Content-Type") != "application/json":
        return "content type"
    if not isinstance(body.get("model"), str) or body.get("stream") is not True:
        return "model or stream"
    roles = [message["role"] for message in body["messages"]]
    if dialect == "anthropic":
        if headers.get("anthropic-version") != "2023-06-01":
            return "anthropic-version"
        if not isinstance(body.get("max_tokens"), int):
            return "max_tokens"
        if "system" in roles:
            return "system among the messages"
    else:
        if not isinstance(body.get("max_tokens"), int):
            return "max_tokens"
        if body.get("stream_options") != {"include_usage": True}:
            return "stream_options"
    turns = [role for role in roles if role != "system"]
    if turns != [("user", "assistant")[i % 2] for i in range(len(turns))] or turns[-1] != "user":
        return "roles " + " ".join(roles)
    return None


def openai_events(step, text):
    usage = step.get("usage", [11, 7])
    for piece in pieces(text):
        yield {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}],
               "usage": None}
    if "stream_error" in step:
        yield {"error": {"message": "went wrong", "type": step["stream_error"]}}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": step.get("stop", "stop")}]}
    if usage:
        yield {"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}


def anthropic_events(step, text):
    usage = step.get("usage", [11, 7])
    start = {"type": "message_start", "message": {"role": "assistant", "content": []}}
    if usage:
        start["message"]["usage"] = {"input_tokens": usage[0], "output_tokens": 1}
    yield start
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "ping"}
    for piece in pieces(text):
        yield {"type": "content_block_delta", "index": 0,
               "delta": {"type": "text_delta", "text": piece}}
    if "stream_error" in step:
        yield {"type": "error", "error": {"type": step["stream_error"], "message": "went wrong"}}
    yield {"type": "content_block_stop", "index": 0}
    end = {"type": "message_delta", "delta": {"stop_reason": step.get("stop", "end_turn")}}
    if usage:
        end["usage"] = {"output_tokens": usage[1]}
    yield end
    yield {"type": "message_stop"}


def document(dialect, step, text):
    usage = step.get("usage", [11, 7])
    if dialect == "anthropic":
        whole = {"type": "message", "content": [{"type": "text", "text": text}],
                 "stop_reason": step.get("stop", "end_turn")}
        names = ("input_tokens", "output_tokens")
    else:
        whole = {"choices": [{"message": {"role": "assistant", "content": text},
                              "finish_reason": step.get("stop", "stop")}]}
        names = ("prompt_tokens", "completion_tokens")
    if usage:
        whole["usage"] = dict(zip(names, usage))
    return whole


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def whole(self, status, body, content_type="application/json", headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.whole(200, LOG)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        dialect = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}.get(self.path)
        key = self.headers.get("x-api-key" if dialect == "anthropic" else "Authorization", "")
        with LOCK:
            step = STEPS[0] if STEPS else {"status": 400, "error": "the script is over"}
            if STEPS and not step.get("repeat"):
                STEPS.pop(0)
            LOG.append({"path": self.path, "key": key, "seconds": time.monotonic(), "body": body})
        if dialect is None:
            return self.whole(404, {"error": {"message": "no such path " + self.path}})
        fault = fault_of_request(dialect, self.headers, body)
        for part in step.get("expect", []):
            if part not in json.dumps(body, ensure_ascii=False):
                fault = "expected in the request: " + part
        if fault:
            return self.whole(400, {"error": {"message": "bad request: " + fault}})
        time.sleep(step.get("wait", 0))
        echo = " " + key if step.get("echo_key") else ""
        if "status" in step:
            error = {"message": step.get("error", "no reason") + echo}
            if "code" in step:
                error["code"] = step["code"]
            return self.whole(step["status"], {"error": error}, headers=step.get("headers", {}))
        if "raw" in step:
            return self.whole(200, step["raw"].encode(),
                              step.get("content_type", "application/json"))
        text = step.get("text", "") + echo
        if step.get("stream") is False:
            return self.whole(200, document(dialect, step, text))
        self.answer(dialect, step, text)

    def answer(self, dialect, step, text):
        events = list((anthropic_events if dialect == "anthropic" else openai_events)(step, text))
        lines = [(f"event: {event['type']}\n" if dialect == "anthropic" else "") +
                 "data: " + json.dumps(event) + "\n\n" for event in events]
        if dialect == "openai":
            lines.append("data: [DONE]\n\n")
        middle = len(lines) // 2
        if step.get("broken"):
            lines[middle] = 'data: {"choices": [{"del\n\n'
        if step.get("cut"):
            lines = lines[:middle]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            # Two chunks an event, so that no reader may count on whole ones.
            data = line.encode()
            for part in (data[:len(data) // 2], data[len(data) // 2:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
            time.sleep(step.get("pause", 0))
        if step.get("cut") == "reset":
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients that hang up are what tests are about


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        STEPS.extend(json.load(file))
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    if len(sys.argv) > 2:
        url = f"http://127.0.0.1:{port}/v1"
        command = [word.replace("{url}", url) for word in sys.argv[3:]]
        code = subprocess.run(command, check=False).returncode
        if STEPS and not STEPS[0].get("repeat"):
            print(f"{len(STEPS)} steps of the script were not asked for", file=sys.stderr)
            code = 99
        sys.exit(code)
    print(port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
