// What all doors between Python's arrays and the kernels share.
#pragma once
#include "arrays.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

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

template <class T> inline Out<T> give(const std::vector<T>& values) {
    Buffer<T> copy(values.size());
    std::copy(values.begin(), values.end(), copy.at(0));
    return give(std::move(copy), {values.size()});
}

// An argument that is taken as it is, or not at all.
inline auto strict(const char* name) { return nb::arg(name).noconvert(); }

// Runs a kernel without the interpreter's lock.
template <class Work> inline auto unlocked(Work work) {
    nb::gil_scoped_release release;
    return work();
}

// Whether to end: the time is up, or the user has had enough.  Other signals keep their error.
struct Enough {
    using Clock = std::chrono::steady_clock;
    Clock::time_point end, next = Clock::now();
    bool limited;
    bool failed = false, interrupted = false;

    explicit Enough(i64 milliseconds = 0)
        : end(Clock::now() + std::chrono::milliseconds(milliseconds)), limited(milliseconds > 0) {}

    bool operator()() {
        const auto now = Clock::now();
        if (interrupted || failed || (limited && now >= end)) return true;
        if (now < next) return false;
        next = now + std::chrono::milliseconds(20);
        nb::gil_scoped_acquire held;
        if (!PyErr_CheckSignals()) return false;
        if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_Clear(), interrupted = true;
        else failed = true;
        return true;
    }
};
