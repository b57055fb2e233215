// Views and buffers: what the kernels see of an array.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bit planes are little-endian; on this machine the NumPy twins serve"
#endif

namespace privsieve {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// A matrix whose rows are contiguous: a table's column is a row of it.
template <class T> struct Matrix {
    const T* data;
    size_t rows, columns;
    const T* operator[](size_t i) const { return data + i * columns; }
};

// Memory of which only the touched part costs anything, so that an upper bound may be asked for.
template <class T> struct Buffer {
    std::unique_ptr<T, decltype(&std::free)> data{nullptr, &std::free};
    explicit Buffer(size_t size) { resize(size); }
    void resize(size_t size) {
        void* moved = std::realloc(data.get(), (size ? size : 1) * sizeof(T));
        if (!moved) throw std::bad_alloc();
        (void)data.release();
        data.reset(static_cast<T*>(moved));
        large_pages(moved, size * sizeof(T));
    }
    // Asks for large pages, as NumPy does: first touches are else a third of a counting pass.
    static void large_pages(void* start, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        constexpr size_t PAGE = 4096, LARGE = size_t(1) << 22;
        if (bytes < LARGE) return;
        const size_t skip = (PAGE - reinterpret_cast<size_t>(start) % PAGE) % PAGE;
        (void)madvise(static_cast<char*>(start) + skip, (bytes - skip) / PAGE * PAGE, MADV_HUGEPAGE);
#else
        (void)start, (void)bytes;
#endif
    }
    T& operator[](size_t i) { return data.get()[i]; }
    T* at(size_t i) { return data.get() + i; }
};

// The finaliser of splitmix64.
inline u64 mix64(u64 z) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

}  // namespace privsieve
