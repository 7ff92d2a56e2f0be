"""Files that a reader has to refuse, or to survive."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from common import HIDDEN, folder_of

ROWS = ["batch", "sequence"]
IDS = [helper.make_tensor_value_info(name, TensorProto.INT64, ROWS) for name in ("input_ids", "attention_mask")]
STATES = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*ROWS, HIDDEN])
BAD_TOKEN = 7


def model(nodes, inputs, outputs, weights, opset=17):
    """A graph as a file holds it."""
    graph = helper.make_graph(nodes, "broken", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def words():
    """A vector for each of 120 words; one has no value."""
    table = np.random.default_rng(20).normal(size=(120, HIDDEN)).astype(np.float32)
    table[BAD_TOKEN] = np.nan
    return numpy_helper.from_array(table, "words")


def look_up():
    """The vectors of the ids, nought where the mask is."""
    return [
        helper.make_node("Gather", ["words", "input_ids"], ["vectors"]),
        helper.make_node("Cast", ["attention_mask"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["ones", "axis"], ["wide"]),
        helper.make_node("Mul", ["vectors", "wide"], ["last_hidden_state"]),
    ]


def broken():
    folder = folder_of("broken")
    axis = numpy_helper.from_array(np.array([2]), "axis")
    (folder / "not_onnx.onnx").write_text("This is a line of text, not a graph.\n")
    onnx.save(model(look_up(), IDS, [STATES], [words(), axis]), folder / "nan.onnx")
    onnx.save(model(look_up(), IDS, [STATES], [words(), axis], opset=999), folder / "future_opset.onnx")
    onnx.save(model(look_up(), IDS, [STATES], [elsewhere(), axis]), folder / "external.onnx")
    onnx.save(of_pictures(), folder / "wrong_inputs.onnx")


def elsewhere():
    """Words whose values are in a file that is not there."""
    table = words()
    table.ClearField("raw_data")
    table.data_location = TensorProto.EXTERNAL
    table.external_data.add(key="location", value="weights.bin")
    return table


def of_pictures():
    """A graph that reads pictures."""
    pixels = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, "height", "width"])
    mean = helper.make_tensor_value_info("image_embeds", TensorProto.FLOAT, ["batch", 3])
    node = helper.make_node("ReduceMean", ["pixel_values"], ["image_embeds"], axes=[2, 3], keepdims=0)
    return model([node], [pixels], [mean], [])
