"""Train a detector: each cell of a grid says whether a box has its centre there, of which class and where."""

from typing import Any

import torch
from torch import nn
from torchvision.ops import sigmoid_focal_loss
from torchvision.transforms import v2

from shardkit.programs.parts.boxes import BOX_WEIGHT, FLIP, HEAD_WIDTH, MIN_SCORE, summary
from shardkit.programs.parts.settings import IMAGE_SIZE
from shardkit.programs.with_torch.images import image_of
from shardkit.programs.with_torch.small_images import make_backbone

__all__ = ["make_model", "measure", "prepare", "summary"]

MAX_BOXES = 100  # of an image; further ones are dropped


def prepare(example: Any, *, training: bool) -> Any:
    """Return the whole image of an example, and its boxes with their labels, padded with 0 and -1."""
    image = v2.functional.resize(image_of(example), list(IMAGE_SIZE), antialias=True)
    number = min(MAX_BOXES, len(example.boxes))
    boxes, labels = torch.zeros(MAX_BOXES, 4), torch.full([MAX_BOXES], -1)
    boxes[:number] = torch.from_numpy(example.boxes[:number])  # (ymin, xmin, ymax, xmax), fractions of the image
    labels[:number] = torch.tensor(example.labels[:number])
    if training and FLIP and torch.rand([]) < 0.5:
        image = image.flip(-1)
        boxes[:number, 1::2] = 1 - boxes[:number, 1::2].flip(-1)
    return image, {"boxes": boxes, "labels": labels}


class Detector(nn.Module):
    """The backbone, and a head that gives each cell of its feature maps logits of classes, and a box."""

    def __init__(self, num_classes: int) -> None:
        """Make the layers."""
        super().__init__()
        backbone, width = make_backbone()
        head = [nn.Conv2d(width, HEAD_WIDTH, 3, 1, 1), nn.ReLU(), nn.Conv2d(HEAD_WIDTH, HEAD_WIDTH, 3, 1, 1), nn.ReLU()]
        self.features = nn.Sequential(backbone, *head)
        self.scores, self.places = nn.Conv2d(HEAD_WIDTH, num_classes, 1), nn.Conv2d(HEAD_WIDTH, 4, 1)
        # Most cells are empty: begin with a score of 0.01 everywhere (Lin et al., 2017, Focal loss).
        nn.init.constant_(self.scores.bias, -4.6)

    def forward(self, images: Any) -> Any:
        """Return [batch, rows, columns, classes] and [batch, rows, columns, 4]."""
        x = self.features(images)
        return self.scores(x).permute(0, 2, 3, 1), self.places(x).permute(0, 2, 3, 1)


def make_model(num_classes: int) -> nn.Module:
    """Return a model from images to logits and places."""
    return Detector(num_classes)


def boxes_of_cells(places: Any) -> Any:
    """Return (ymin, xmin, ymax, xmax) of each cell, as fractions of the image, from what the model gives."""
    rows, columns = places.shape[1:3]
    grid = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"), -1)
    centres = (grid.to(places) + places[..., :2].sigmoid()) / places.new_tensor([rows, columns])
    halves = places[..., 2:].sigmoid() / 2
    return torch.cat([centres - halves, centres + halves], -1)


def overlap(one: Any, other: Any) -> Any:
    """Return the intersection over union of boxes, which are the last axis of both."""
    sides = torch.minimum(one[..., 2:], other[..., 2:]) - torch.maximum(one[..., :2], other[..., :2])
    both = sides.clamp(min=0).prod(-1)
    areas = [(boxes[..., 2:] - boxes[..., :2]).prod(-1) for boxes in (one, other)]
    return both / (areas[0] + areas[1] - both).clamp(min=1e-9)


def measure(model: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Return values of each example, float32 [batch, …]; an evaluation sums them, and training reduces the loss."""
    logits, places = (each.float() for each in model(images))
    given, scores = boxes_of_cells(places), logits.sigmoid()
    boxes, is_box = labels["boxes"], labels["labels"] >= 0  # [batch, boxes, 4], [batch, boxes]; the rest is padding
    rows, columns = logits.shape[1:3]
    centres = (boxes[..., :2] + boxes[..., 2:]) / 2
    batch = torch.arange(len(boxes), device=boxes.device)[:, None].expand(is_box.shape)
    row = (centres[..., 0] * rows).long().clamp(0, rows - 1)
    column = (centres[..., 1] * columns).long().clamp(0, columns - 1)
    classes = labels["labels"].clamp(min=0)

    # The class of the boxes that have their centre in a cell: 0 or 1, [batch, rows, columns, classes].
    true = torch.zeros_like(logits)
    true[batch[is_box], row[is_box], column[is_box], classes[is_box]] = 1
    losses = sigmoid_focal_loss(logits, true, alpha=0.75, gamma=2)
    num_boxes = is_box.sum(-1)
    of_classes = losses.sum((1, 2, 3)) / num_boxes.clamp(min=1)

    at_boxes = given[batch, row, column]  # what the model gives where the boxes are
    overlaps = overlap(at_boxes, boxes)
    distances = (at_boxes - boxes).abs().mean(-1) + (1 - overlaps) / BOX_WEIGHT
    of_boxes = (distances * is_box).sum(-1) / num_boxes.clamp(min=1)

    is_found = is_box & (overlaps >= 0.5) & (scores[batch, row, column, classes] >= MIN_SCORE)
    return {
        "loss": of_classes + BOX_WEIGHT * of_boxes,
        "boxes": num_boxes,
        "found": is_found.sum(-1),
        "given": (scores >= MIN_SCORE).sum((1, 2, 3)),
    }
