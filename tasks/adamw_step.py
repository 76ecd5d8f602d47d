"""One step of AdamW: changes the parameter and both moments in place."""

from suite import normal, sizes, uniform

forward_only = True


def forward(parameter, gradient, moment1, moment2, rate, beta1, beta2, eps, decay, step):
    parameter.mul_(1 - rate * decay)
    moment1.mul_(beta1).add_(gradient, alpha=1 - beta1)
    moment2.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    corrected = moment2.sqrt() / (1 - beta2**step) ** 0.5 + eps
    parameter.addcdiv_(moment1, corrected, value=-rate / (1 - beta1**step))


def arguments(count, rate=1e-2, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.1, step=3):
    return dict(
        parameter=normal(count), gradient=normal(count),
        moment1=normal(count, scale=0.1), moment2=uniform(count, low=0.01, high=0.1),
        rate=rate, beta1=beta1, beta2=beta2, eps=eps, decay=decay, step=step,
    )


quick = sizes("count", (4096,))
hidden = sizes("count step", (1, 1), (33, 2), (1027, 10), (1028, 3))
timing = sizes("count", (134217728,))
dtypes = ["float32"]  # optimiser state is kept in float32
