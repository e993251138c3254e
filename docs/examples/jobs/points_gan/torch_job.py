"""A GAN that draws points around (3, 3): two networks, and an optimizer and a scheduler for each."""

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus
from torch.optim import Adam
from torch.optim.lr_scheduler import StepLR

from workloads.jobs import TorchJob


class Gan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))


def loss(gan: Gan, real: Tensor) -> Tensor:
    fake = gan.generator(torch.randn(len(real), 4, device=real.device))
    critic_loss = softplus(-gan.critic(real)).mean() + softplus(gan.critic(fake.detach())).mean()
    frozen = {name: weight.detach() for name, weight in gan.critic.named_parameters()}
    return critic_loss + softplus(-torch.func.functional_call(gan.critic, frozen, (fake,))).mean()


def build(_options: object) -> TorchJob:
    gan = Gan()
    optimizers = [Adam(part.parameters(), lr=1e-3) for part in (gan.generator, gan.critic)]
    return TorchJob(
        model=gan,
        loss=loss,
        optimizer=optimizers,
        scheduler=[StepLR(each, 10) for each in optimizers],
        data=torch.randn(640, 2, generator=torch.Generator().manual_seed(0)) + 3,
    )
