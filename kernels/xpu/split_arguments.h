// What launchers check of the arrays that describe a batch split by class.
#pragma once

#include "bindings/device.h"

namespace opgold {

using Entries = Tensor<const int32_t, 1>;

// Throws for an array that does not fit the others; returns how many slots they have room for.
inline int require_split_batch(const Entries& encoder_slots, const Entries& decoder_slots,
                               const Entries& encoder_slots_cpu, const Entries& decoder_slots_cpu,
                               const Entries& encoder_seq_lod, const Entries& decoder_seq_lod,
                               const Entries& encoder_seq_lod_cpu, const Entries& decoder_seq_lod_cpu,
                               const Entries& len_info_cpu) {
  const int bsz = count_of(encoder_slots, 0);
  for (const Entries* slots : {&decoder_slots, &encoder_slots_cpu, &decoder_slots_cpu})
    slots->require(0, bsz, "slots of the other lists");
  for (const Entries* lod : {&encoder_seq_lod, &decoder_seq_lod, &encoder_seq_lod_cpu, &decoder_seq_lod_cpu})
    lod->require(0, int64_t{bsz} + 1, "slots of the lists, and 1");
  len_info_cpu.require(0, 7, "counts");
  return bsz;
}

}  // namespace opgold
