// get_infer_param: the launcher.
#include "bindings/export.h"
#include "xpu/integers.h"

namespace opgold {
namespace xpu {

__attribute__((global)) void list_slots(const int* seq_lens_encoder, const int* seq_lens_decoder,
                                        const int* seq_lens_this_time, int bsz, int block_size, int* encoder_batch_map,
                                        int* decoder_batch_map, int* encoder_batch_idx, int* decoder_batch_idx,
                                        int* encoder_seq_lod, int* decoder_seq_lod, int* encoder_kv_lod,
                                        int* prefix_len, int* decoder_context_len, int* decoder_context_len_cache,
                                        int* len_info);

__attribute__((global)) void map_blocks(const int* seq_lens_decoder, const int* block_tables, Int64 columns,
                                        int block_size, const int* encoder_batch_map, const int* decoder_batch_map,
                                        const int* encoder_seq_lod, const int* decoder_seq_lod,
                                        const int* encoder_kv_lod, const int* len_info, bool encoder_splice,
                                        bool decoder_splice, int* prefix_block_tables, Int64 prefix_entries,
                                        int* slot_mapping_enc, int enc_entries, int* slot_mapping_dec,
                                        int dec_entries);

}  // namespace xpu

namespace {

using Lengths = Tensor<const int32_t, 1>;
using List = Tensor<int32_t, 1>;

// The arrays of one memory.
struct Lists {
  List encoder_batch_map, decoder_batch_map, encoder_batch_idx, decoder_batch_idx, encoder_seq_lod, decoder_seq_lod,
      encoder_kv_lod, prefix_len, decoder_context_len, decoder_context_len_cache;

  // Longer ones keep their rest.
  void require(int64_t bsz) const {
    for (const List* list : {&encoder_batch_map, &decoder_batch_map, &encoder_batch_idx, &decoder_batch_idx,
                             &prefix_len, &decoder_context_len, &decoder_context_len_cache})
      require_room(*list, bsz);
    for (const List* list : {&encoder_seq_lod, &decoder_seq_lod, &encoder_kv_lod}) require_room(*list, bsz + 1);
  }

 private:
  static void require_room(const List& list, int64_t needed) {
    if (list.shape[0] < needed)
      throw ArgumentError(list.name, list.shape[0], " entries, expected at least ", needed);
  }
};

void list_slots(Stream stream, const Lengths& seq_lens_encoder, const Lengths& seq_lens_decoder,
                const Lengths& seq_lens_this_time, int block_size, const Lists& to, int32_t* len_info) {
  check_launch("list_slots",
               xpu::list_slots<<<1, cores(), stream>>>(
                   seq_lens_encoder.data, seq_lens_decoder.data, seq_lens_this_time.data,
                   count_of(seq_lens_this_time, 0), block_size, to.encoder_batch_map.data, to.decoder_batch_map.data,
                   to.encoder_batch_idx.data, to.decoder_batch_idx.data, to.encoder_seq_lod.data,
                   to.decoder_seq_lod.data, to.encoder_kv_lod.data, to.prefix_len.data, to.decoder_context_len.data,
                   to.decoder_context_len_cache.data, len_info));
}

void get_infer_param(Stream stream, Lengths seq_lens_encoder, Lengths seq_lens_decoder, Lengths seq_lens_this_time,
                     Tensor<const int32_t, 2> block_tables, List encoder_batch_map, List decoder_batch_map,
                     List encoder_batch_idx, List decoder_batch_idx, List encoder_seq_lod, List decoder_seq_lod,
                     List encoder_kv_lod, List prefix_len, List decoder_context_len, List decoder_context_len_cache,
                     Tensor<int32_t, 2> prefix_block_tables, List encoder_batch_map_cpu, List decoder_batch_map_cpu,
                     List encoder_batch_idx_cpu, List decoder_batch_idx_cpu, List encoder_seq_lod_cpu,
                     List decoder_seq_lod_cpu, List encoder_kv_lod_cpu, List prefix_len_cpu,
                     List decoder_context_len_cpu, List decoder_context_len_cache_cpu, List len_info_cpu,
                     List slot_mapping_enc, List slot_mapping_dec, int64_t block_size, int64_t num_speculative_tokens,
                     bool encoder_splice, bool decoder_splice) {
  const int64_t bsz = count_of(seq_lens_this_time, 0);
  seq_lens_encoder.require(0, bsz, "slots of seq_lens_this_time");
  seq_lens_decoder.require(0, bsz, "slots of seq_lens_this_time");
  if (block_tables.shape[0] < bsz)
    throw ArgumentError("block_tables", block_tables.shape[0], " rows, expected at least ", bsz);
  const Lists device = {encoder_batch_map,   decoder_batch_map, encoder_batch_idx,   decoder_batch_idx,
                        encoder_seq_lod,     decoder_seq_lod,   encoder_kv_lod,      prefix_len,
                        decoder_context_len, decoder_context_len_cache};
  const Lists host = {encoder_batch_map_cpu,   decoder_batch_map_cpu, encoder_batch_idx_cpu,   decoder_batch_idx_cpu,
                      encoder_seq_lod_cpu,     decoder_seq_lod_cpu,   encoder_kv_lod_cpu,      prefix_len_cpu,
                      decoder_context_len_cpu, decoder_context_len_cache_cpu};
  device.require(bsz);
  host.require(bsz);
  len_info_cpu.require(0, 7, "counts");
  if (block_size < 1) throw ArgumentError("block_size", block_size, ", expected at least 1");
  if (num_speculative_tokens < 0)
    throw ArgumentError("num_speculative_tokens", num_speculative_tokens, ", expected at least 0");
  slot_mapping_dec.require(0, bsz * (1 + num_speculative_tokens), "tokens of each slot");
  const int size = block_size < INT32_MAX ? static_cast<int>(block_size) : INT32_MAX;  // positions fit int32
  list_slots(stream, seq_lens_encoder, seq_lens_decoder, seq_lens_this_time, size, device, nullptr);
  list_slots(stream, seq_lens_encoder, seq_lens_decoder, seq_lens_this_time, size, host, len_info_cpu.data);
  check_launch("map_blocks", xpu::map_blocks<<<clusters(), cores(), stream>>>(
                                 seq_lens_decoder.data, block_tables.data, block_tables.shape[1], size,
                                 encoder_batch_map.data, decoder_batch_map.data, encoder_seq_lod.data,
                                 decoder_seq_lod.data, encoder_kv_lod.data, len_info_cpu.data, encoder_splice,
                                 decoder_splice, prefix_block_tables.data, prefix_block_tables.size(),
                                 slot_mapping_enc.data, count_of(slot_mapping_enc, 0), slot_mapping_dec.data,
                                 count_of(slot_mapping_dec, 0)));
}

}  // namespace
}  // namespace opgold

OPGOLD_EXPORT(get_infer_param, opgold::get_infer_param)
