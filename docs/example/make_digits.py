#!/usr/bin/python3
"""Makes the example model: a small network that reads digits.

Run by hand, never by CI; README.md names the Debian packages it needs and what
came out. The steps, each keeping its result in the --work folder (about 1 GB)
for the next:

  fonts      find usable faces among the installed fonts
  draw       draw the training and validation pictures
  train      train the network
  export     write digits.onnx, digits_calibration.npz, digits_test.npz, samples.png
  evaluate   accuracy of digits.onnx, float and simulated int8, on .npz sets

Nothing but rendered pictures takes part in training or in any choice.
"""

import argparse
import functools
import multiprocessing
import os
import pickle
import sys
import tempfile
import time
import zlib

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # Many small products, --jobs processes.

import numpy as np
import PIL.Image

import digit_glyphs
import digit_renderer

HERE = os.path.dirname(os.path.abspath(__file__))
CHUNK = 2000  # Pictures drawn from one seed.
VALIDATION_COUNT = 4000
CALIBRATION_COUNT = 200
TEST_COUNT = 1000
SAMPLE_COLUMNS = 20
# Every set has its own range of seeds.
TRAIN_SEED, VALIDATION_SEED, CALIBRATION_SEED, TEST_SEED = 1_000_000, 2_000_000, 3_000_000, 4_000_000


def _role(face):
    """Which set a family of faces belongs to: 5 % validation, 10 % test."""
    bucket = zlib.crc32(face.family.encode()) % 20
    return "validation" if bucket == 0 else "test" if bucket <= 2 else "train"


@functools.lru_cache(None)
def _faces(work, role):
    """The faces of one set, read once per process."""
    with open(os.path.join(work, "faces.pkl"), "rb") as file:
        return [face for face in pickle.load(file) if _role(face) == role]


def _fonts(args):
    faces = digit_glyphs.load_fonts(args.fonts)
    with open(os.path.join(args.work, "faces.pkl"), "wb") as file:
        pickle.dump(faces, file)


def _draw_chunk(work, chunk):
    return digit_renderer.draw_set(CHUNK, _faces(work, "train"), digit_renderer.TRAIN_MIX, TRAIN_SEED + chunk)


def _draw(args):
    begin = time.time()
    with multiprocessing.Pool(args.jobs) as pool:
        parts = list(pool.imap(functools.partial(_draw_chunk, args.work), range(args.pictures // CHUNK)))
    x, y = (np.concatenate(part) for part in zip(*parts))
    np.savez(os.path.join(args.work, "train.npz"), x=x, y=y)
    vx, vy = digit_renderer.draw_set(
        VALIDATION_COUNT, _faces(args.work, "validation"), digit_renderer.FONTS_MIX, VALIDATION_SEED
    )
    np.savez(os.path.join(args.work, "validation.npz"), x=vx, y=vy)
    print(f"{len(x)} pictures in {time.time() - begin:.0f} s")


def _load(work, name):
    with np.load(os.path.join(work, name)) as file:
        return file["x"], file["y"]


def _train(args):
    import torch  # Slow to load, and the other steps do without.

    import digit_network

    torch.set_num_threads(args.jobs)
    x, y = _load(args.work, "train.npz")
    validation = _load(args.work, "validation.npz")
    network = digit_network.train(
        x, y, validation, args.epochs, args.batch, args.rate, args.seed, lambda m: print(m, flush=True)
    )
    torch.save(network.state_dict(), os.path.join(args.work, "network.pt"))
    print(f"{digit_network.parameter_count(network)} parameters")


def _save_set(path, x, y, white):
    np.savez_compressed(
        path,
        x=x[:, None],
        y=y.astype(np.int32),
        labels=np.array(list(digit_glyphs.DIGITS)),
        x_scale=np.float32(white / 255),
        x_offset=np.float32(0),
    )
    print(f"{path}: {len(x)} pictures, {os.path.getsize(path)} bytes")


def _export(args):
    import torch

    import digit_export
    import digit_network

    network = digit_network.DigitNet()
    network.load_state_dict(torch.load(os.path.join(args.work, "network.pt")))
    path = os.path.join(args.out, "digits.onnx")
    layers = digit_network.folded_layers(network)
    weight, bias = layers["conv1"]
    layers["conv1"] = (weight / np.float32(args.white), bias)
    digit_export.write_onnx(layers, path)
    print(f"{path}: {os.path.getsize(path)} bytes")
    draw = digit_renderer.draw_set
    x, y = draw(CALIBRATION_COUNT, _faces(args.work, "train"), digit_renderer.TRAIN_MIX, CALIBRATION_SEED)
    _save_set(os.path.join(args.out, "digits_calibration.npz"), x, y, args.white)
    x, y = draw(TEST_COUNT, _faces(args.work, "test"), digit_renderer.FONTS_MIX, TEST_SEED)
    _save_set(os.path.join(args.out, "digits_test.npz"), x, y, args.white)


    _save_samples(os.path.join(args.out, "samples.png"), *_load(args.work, "train.npz"))


def _save_samples(path, x, y):
    """A picture of training digits, one row per class."""
    rows = [np.concatenate(x[y == digit][:SAMPLE_COLUMNS], 1) for digit in range(10)]
    PIL.Image.fromarray(np.concatenate(rows)).save(path, optimize=True)


def _evaluate(args):
    import torch

    import digit_export

    torch.set_num_threads(args.jobs)
    model = digit_export.read_onnx(os.path.join(args.out, "digits.onnx"))
    with np.load(os.path.join(args.out, "digits_calibration.npz")) as file:
        calibration = file["x"] * file["x_scale"] + file["x_offset"]
    quantized = digit_export.Quantized(model, calibration)
    for path in args.data or [os.path.join(args.out, "digits_test.npz")]:
        with np.load(path) as file:
            x, y = (file["x"].astype(np.float32) * file["x_scale"] + file["x_offset"]) * args.scale, file["y"]
        plain = digit_export.run(model, x).argmax(1)
        small = quantized.run(x).argmax(1)
        print(
            f"{path}: {len(y)} pictures, float {(plain == y).mean():.4f}, "
            f"int8 {(small == y).mean():.4f}, same answer {(plain == small).mean():.4f}"
        )


STEPS = {"fonts": _fonts, "draw": _draw, "train": _train, "export": _export, "evaluate": _evaluate}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+", choices=list(STEPS), help="run in the order given")
    work = os.path.join(tempfile.gettempdir(), "edgekiln-digits")
    parser.add_argument("--work", default=work, help="folder for intermediate files (default: %(default)s)")
    parser.add_argument("--out", default=HERE, help="folder of the three results (default: beside this script)")
    parser.add_argument("--fonts", default="/usr/share/fonts", help="folder searched for fonts (default: %(default)s)")
    parser.add_argument("--pictures", type=int, default=500_000, help="training pictures (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=4, help="passes over them (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=128, help="pictures per step (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=4e-3, help="highest learning rate (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the training (default: %(default)s)")
    parser.add_argument(
        "--white", type=int, default=255, choices=(1, 255), help="input value of full ink (default: %(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes or threads (default: %(default)s)")
    parser.add_argument("--data", nargs="*", help=".npz sets to evaluate (default: digits_test.npz)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="times the sets' own scale; 0.003921569 for pixels 0..255"
    )
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    for step in args.steps:
        STEPS[step](args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
