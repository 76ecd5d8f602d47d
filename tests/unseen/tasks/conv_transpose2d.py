import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding):
        super(Model, self).__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride,
                                       padding=padding, output_padding=output_padding, bias=True)

    def forward(self, x):
        return self.conv(x)


batch_size = 8
in_channels = 64
out_channels = 64


def get_inputs():
    return [torch.rand(batch_size, in_channels, 128, 128)]


def get_init_inputs():
    return [in_channels, out_channels, 3, 2, 1, 1]
