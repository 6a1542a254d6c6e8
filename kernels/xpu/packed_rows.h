// Packed rows of all slots that come from packed rows: where each slot's rows start on both sides.
#pragma once

#include "xpu/moved_rows.h"
#include "xpu/slot_sums.h"

namespace opgold {
namespace xpu {

// A row that is written: whose it is, and the rows that its slot has on the side that is read.
struct PackedRow {
  Int64 slot;         // -1: nobody's
  Int64 index;        // in the slot
  Int64 source, end;  // of the slot's rows that are read
  bool more;          // the slot writes more rows than it reads
};

template <class Slots>
struct RowsRead {
  const Slots& slots;
  __device__ int operator()(int slot) const { return slots.reads(slot); }
};

template <class Slots>
struct RowsWritten {
  const Slots& slots;
  __device__ int operator()(int slot) const { return slots.writes(slot); }
};

// A stretch of slots. `starts` of written rows and `sources` of those read have kStretch + 1 entries. All cores of the
// cluster take the next stretch, and may read it afterwards. It comes from data: starts may fall, and wrap.
struct PackedSlots {
  _shared_ptr_ int* starts;
  _shared_ptr_ int* sources;
  int first;
  int slots;

  __device__ void load_next(__global_ptr__ const int* cu_starts, __global_ptr__ const int* cu_sources, int bsz) {
    mfence_sm();  // the last stretch has been read
    sync_cluster();
    first += slots;
    slots = stretch_of(first, bsz);
    if (core_id() == 0) {
      GM2SM(cu_starts + first, starts, (slots + 1) * (int)sizeof(int));
      GM2SM(cu_sources + first, sources, (slots + 1) * (int)sizeof(int));
    }
    sync_cluster();
  }

  // `each` says how many rows a slot reads(slot) and writes(slot). `partial` has kMostCores entries.
  template <class Slots>
  __device__ void sum_next(const Slots& each, int bsz, _shared_ptr_ int* partial) {
    const RowsRead<Slots> read = {each};
    const RowsWritten<Slots> written = {each};
    const int read_before = slots > 0 ? sources[slots] : 0, written_before = slots > 0 ? starts[slots] : 0;
    first += slots;
    slots = stretch_of(first, bsz);
    sum_slots(read, first, slots, read_before, sources, partial);
    sum_slots(written, first, slots, written_before, starts, partial);
  }

  __device__ bool more(int bsz) const { return first + slots < bsz; }
  __device__ int end() const { return starts[slots]; }

  // `row` is below the end.
  __device__ PackedRow place(Int64 row) const {
    const int slot = slot_of(starts, slots, (int)row);
    const Int64 begin = starts[slot], stop = starts[slot + 1];
    const bool held = row >= begin && row < stop;
    const Int64 source = (unsigned)sources[slot], source_end = (unsigned)sources[slot + 1];
    const PackedRow place = {held ? first + slot : -1, row - begin, source, source_end,
                             stop - begin > source_end - source};
    return place;
  }
};

// Calls writer.write(row, place, own) for the calling core's rows of the stretch below `count`, and takes `own` past
// them: a row is its core's, whatever the starts are.
template <class Writer>
static inline __device__ void write_rows(const Writer& writer, const PackedSlots& slots, Int64 count, RowShare& own) {
  for (; own.row < count && own.row < slots.end(); own.row += own.row_step) {
    const PackedRow place = slots.place(own.row);
    if (place.slot >= 0) writer.write(own.row, place, own);
  }
}

// The same for all slots, by the sums of what each one reads(slot) and writes(slot). Returns how many rows they write.
template <class Writer>
static inline __device__ int write_summed_rows(const Writer& writer, int bsz, Int64 count, RowShare& own,
                                               _shared_ptr_ int* starts, _shared_ptr_ int* sources,
                                               _shared_ptr_ int* partial) {
  PackedSlots slots = {starts, sources, 0, 0};
  do {
    slots.sum_next(writer, bsz, partial);
    write_rows(writer, slots, count, own);
  } while (slots.more(bsz));
  return slots.end();
}

// The same by prefix sums that are given.
template <class Writer>
static inline __device__ void write_offset_rows(const Writer& writer, __global_ptr__ const int* cu_starts,
                                                __global_ptr__ const int* cu_sources, int bsz, Int64 count,
                                                RowShare& own, _shared_ptr_ int* starts, _shared_ptr_ int* sources) {
  PackedSlots slots = {starts, sources, 0, 0};
  while (slots.more(bsz)) {
    slots.load_next(cu_starts, cu_sources, bsz);
    write_rows(writer, slots, count, own);
  }
}

// Of the rows that a slot reads it writes the first ones.
struct FirstRows {
  MovedRows moved;

  __device__ void write(Int64 row, const PackedRow& place, const RowShare& own) const {
    moved.copy(moved.source(place.source + place.index), row, own);
  }
};

}  // namespace xpu
}  // namespace opgold
