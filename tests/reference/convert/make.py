"""The reference graphs of ../onnx in smaller precisions, by onnxruntime 1.32.0 and onnx 1.23.2.

    pip install onnx onnxruntime sympy
    python make.py

NAME-int8.onnx is what quantize_dynamic(per_channel=True, reduce_range=True) makes of ../onnx/NAME/model.onnx, all other settings being its own; NAME-fp16.onnx
what convert_float_to_float16(keep_io_types=True) makes of it. A graph of its own, products.onnx, has a product with a transposed weight
(Gemm with transB), one with a weight behind Transpose, and weights at the edges of rounding and of half's range.
"""

import logging
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16

HERE = Path(__file__).parent
logging.disable(logging.WARNING)


def products() -> Path:
    random = np.random.default_rng(7)
    a = random.normal(size=(5, 6)).astype(np.float32)
    # A column of zeros, one whose steps are halves, one with one large weight.
    a[:, 0] = 0
    a[:, 1] = [127, 0.5, 1.5, -2.5, 63.5]
    a[2, 2] = 900
    b = random.normal(size=(4, 6)).astype(np.float32)
    c = random.normal(size=(3, 4)).astype(np.float32)
    c[0, 0], c[1, 1] = 1e6, 1e-9
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["y"], "first"),
        helper.make_node("Gemm", ["y", "b", "bias"], ["z"], "second", transB=1),
        helper.make_node("Transpose", ["c"], ["ct"], perm=[1, 0]),
        helper.make_node("MatMul", ["z", "ct"], ["out"], "third"),
    ]
    weights = [numpy_helper.from_array(value, name) for name, value in [("a", a), ("b", b), ("c", c)]]
    weights.append(numpy_helper.from_array(random.normal(size=4).astype(np.float32), "bias"))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]) for name, size in [("x", 5), ("out", 3)]]
    graph = helper.make_graph(nodes, "products", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    path = HERE / "products.onnx"
    onnx.save(model, path)
    return path


def main() -> None:
    graphs = {name: HERE.parent / "onnx" / name / "model.onnx" for name in ["bert", "bert-classifier"]}
    graphs["products"] = products()
    for name, path in graphs.items():
        quantize_dynamic(path, HERE / f"{name}-int8.onnx", per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
        onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=True), HERE / f"{name}-fp16.onnx")


if __name__ == "__main__":
    main()
