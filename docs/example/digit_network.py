"""The example network: PyTorch definition, training, folding of batch norms.

`folded_layers()` is what leaves this file: the network as a plain list of
layers with float32 weights, which digit_export.py writes as ONNX.
"""

import copy
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CONV1, CONV2, POINTWISE, CONV3 = 16, 32, 64, 48  # Output channels.
SMOOTHING = 0.05  # Of the labels; some rendered digits are beyond recognition.
AVERAGE = 0.998  # Of the running mean of the weights, per step.


class ConvNorm(nn.Module):
    """A convolution without bias and its batch norm."""

    def __init__(self, cin, cout, kernel, stride=1, groups=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(cout)

    def forward(self, x):
        return self.norm(self.conv(x))

    def folded(self):
        """Weight and bias of the one convolution that computes the same."""
        scale = (self.norm.weight / torch.sqrt(self.norm.running_var + self.norm.eps)).detach()
        weight = self.conv.weight.detach() * scale[:, None, None, None]
        bias = self.norm.bias.detach() - self.norm.running_mean * scale
        return weight.numpy().astype(np.float32), bias.numpy().astype(np.float32)


class DigitNet(nn.Module):
    """28x28 -> conv -> conv/2 -> residual block -> depthwise separable/2 -> conv -> mean -> 10."""

    def __init__(self):
        super().__init__()
        self.conv1 = ConvNorm(1, CONV1, 3)
        self.conv2 = ConvNorm(CONV1, CONV2, 3, stride=2)
        self.block1_conv1 = ConvNorm(CONV2, CONV2, 3)
        self.block1_conv2 = ConvNorm(CONV2, CONV2, 3)
        self.block2_dw = ConvNorm(CONV2, CONV2, 3, stride=2, groups=CONV2)
        self.block2_pw = ConvNorm(CONV2, POINTWISE, 1)
        self.conv3 = ConvNorm(POINTWISE, CONV3, 3)
        self.fc = nn.Linear(CONV3, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(x + self.block1_conv2(F.relu(self.block1_conv1(x))))
        x = F.relu(self.block2_dw(x))
        x = F.relu(self.block2_pw(x))
        x = F.relu(self.conv3(x))
        return self.fc(x.mean((2, 3)))


def parameter_count(network):
    """Weights and biases after folding."""
    layers = folded_layers(network)
    return sum(w.size + b.size for w, b in layers.values())


def folded_layers(network):
    """{layer name: (weight, bias)}, float32, batch norms folded, in order."""
    layers = {name: m.folded() for name, m in network.named_children() if isinstance(m, ConvNorm)}
    layers["fc"] = (network.fc.weight.detach().numpy(), network.fc.bias.detach().numpy())
    return layers


def accuracy(network, x, y):
    """Share of pictures (uint8 [n, 28, 28]) classified as y."""
    network.eval()
    right = 0
    with torch.no_grad():
        for i in range(0, len(x), 500):
            batch = torch.from_numpy(x[i : i + 500]).float()[:, None] / 255
            right += int((network(batch).argmax(1).numpy() == y[i : i + 500]).sum())
    return right / len(x)


def _batches(x, y, size, seed):
    """One epoch: shuffled, every batch moved by up to a pixel."""
    r = np.random.default_rng(seed)
    order = r.permutation(len(x))
    for i in range(0, len(order) - size + 1, size):
        pick = order[i : i + size]
        batch = np.roll(x[pick], tuple(r.integers(-1, 2, 2)), (1, 2))
        yield torch.from_numpy(batch).float()[:, None] / 255, torch.from_numpy(y[pick]).long()


def train(x, y, validation, epochs, batch, peak_rate, seed, log=print):
    """Trains from scratch; returns the running mean of the weights at the last step."""
    torch.manual_seed(seed)
    network = DigitNet().to(memory_format=torch.channels_last)
    mean = copy.deepcopy(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=peak_rate, weight_decay=0.02)
    steps = epochs * (len(x) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peak_rate, steps, pct_start=0.15)
    begin, done = time.time(), 0
    for epoch in range(epochs):
        network.train()
        for pictures, labels in _batches(x, y, batch, seed * 1000 + epoch):
            pictures = pictures.contiguous(memory_format=torch.channels_last)
            loss = F.cross_entropy(network(pictures), labels, label_smoothing=SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            done += 1
            keep = min(AVERAGE, done / (done + 10))
            with torch.no_grad():
                for a, b in zip(mean.state_dict().values(), network.state_dict().values()):
                    if a.dtype.is_floating_point:
                        a.lerp_(b, 1 - keep)
                    else:
                        a.copy_(b)
            if done % 100 == 0:
                log(f"step {done}/{steps} loss {loss.item():.3f} {time.time() - begin:.0f} s")
        log(f"epoch {epoch + 1}: validation accuracy {accuracy(mean, *validation):.4f}")
    return mean
