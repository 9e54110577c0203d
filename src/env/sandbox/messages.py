"""Lines that the server reads, and JSON text that it writes. Python's own module would load regular expressions, which every
fork would then carry."""
import os


def quote(text):
    units = text.encode("utf-16-le", "surrogatepass")
    codes = [units[at] | units[at + 1] << 8 for at in range(0, len(units), 2)]
    return '"%s"' % "".join(chr(code) if 32 <= code < 127 and code not in b'"\\' else "\\u%04x" % code for code in codes)


def text_of(value):
    if value is None:
        return "null"
    if type(value) is str:
        return quote(value)
    if type(value) is dict:
        return "{%s}" % ",".join(["%s:%s" % (quote(name), text_of(item)) for name, item in value.items()])
    if type(value) is list:
        return "[%s]" % ",".join([text_of(item) for item in value])
    return repr(value)


def encode(message):
    """A dict of texts, numbers, lists, dicts and None, as one line without its end."""
    return text_of(message).encode()


class Lines:
    """Reads lines of words from a descriptor; raises EOFError at its end."""

    def __init__(self, fd):
        self.fd, self.buffer = fd, b""

    def line(self):
        while b"\n" not in self.buffer:
            piece = os.read(self.fd, 1 << 16)
            if not piece:
                raise EOFError
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode().split(" ")
