"""Compiles one CUDA source to PTX by a libnvrtc: LIBRARY SOURCE OPTION..., PTX on standard output.

Headers beside the source are handed over by name, and the program has no path but its own name, so that what is made
depends on the sources, the library and the options alone.
"""
import ctypes
import pathlib
import sys

library = ctypes.CDLL(sys.argv[1])
source = pathlib.Path(sys.argv[2])
options = [option.encode() for option in sys.argv[3:]]
headers = sorted(source.parent.glob("*.h"))


def strings(values):
    return (ctypes.c_char_p * len(values))(*values)


def called(name, *arguments):
    code = getattr(library, name)(*arguments)
    if code != 0:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return f"{name}: {library.nvrtcGetErrorString(code).decode()}"
    return None


def text(size_of, get):
    size = ctypes.c_size_t()
    trouble = called(size_of, program, ctypes.byref(size))
    held = ctypes.create_string_buffer(max(size.value, 1))
    trouble = trouble or called(get, program, held)
    if trouble:
        sys.exit(trouble)
    return held.value


program = ctypes.c_void_p()
trouble = called(
    "nvrtcCreateProgram",
    ctypes.byref(program),
    source.read_bytes(),
    source.name.encode(),
    len(headers),
    strings([header.read_bytes() for header in headers]),
    strings([header.name.encode() for header in headers]),
)
if trouble:
    sys.exit(trouble)
trouble = called("nvrtcCompileProgram", program, len(options), strings(options))
sys.stderr.buffer.write(text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog"))
if trouble:
    sys.exit(trouble)
sys.stdout.buffer.write(text("nvrtcGetPTXSize", "nvrtcGetPTX"))
