// What all doors between Python's arrays and the kernels share.
#pragma once
#include "arrays.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

namespace nb = nanobind;
using namespace privsieve;

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T> using Maybe = std::optional<T>;
template <class T> using Out = nb::ndarray<nb::numpy, T>;

template <class T> inline Matrix<T> matrix(const In<T, 2>& a) {
    return {a.data(), a.shape(0), a.shape(1)};
}

// Hands a buffer over to Python, which frees it.
template <class T> inline Out<T> give(Buffer<T>&& buffer, std::initializer_list<size_t> shape) {
    T* data = buffer.data.release();
    return Out<T>(data, shape, nb::capsule(data, [](void* p) noexcept { std::free(p); }));
}

// Runs a kernel without the interpreter's lock.
template <class Work> inline auto unlocked(Work work) {
    nb::gil_scoped_release release;
    return work();
}
