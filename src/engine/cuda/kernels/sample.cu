// Draws one token per row of logits [rows, columns], as sampling.ts defines it. One block of 32 warps per row; weights in float32,
// their sums in float64 in a fixed order. The kept tokens are a prefix of (falling logit, rising id). A short one (a small topK) is
// picked out of the row and ranked. The end of a long one, a (logit, id), is found by counting in ever finer ranges of the logit's
// bits, then among equal logits by id; sums over ranges are whole numbers (weights times 2^40), so that they do not depend on
// the order of the additions.
constexpr int bins = 1024;
// Limits of a short prefix: its most tokens, the groups of threads that bound it, and room for all that reach the bound.
constexpr int mostFew = 96, groups = 128, room = 1024;
constexpr double unit = 1099511627776.0;

// Larger floats have larger keys.
__device__ __forceinline__ u32 keyOf(float x) {
  u32 bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float floatOf(u32 key) { return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }

__device__ __forceinline__ float philoxUniform(u32 key0, u32 key1, u32 position, u32 row, u32 step) {
  u32 c0 = position / 4, c1 = row, c2 = step, c3 = 0;
  for (int round = 0; round < 10; round++) {
    u32 high0 = __umulhi(c0, 0xd2511f53u), low0 = c0 * 0xd2511f53u, high1 = __umulhi(c2, 0xcd9e8d57u), low1 = c2 * 0xcd9e8d57u;
    c0 = high1 ^ c1 ^ key0;
    c1 = low1;
    c2 = high0 ^ c3 ^ key1;
    c3 = low0;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  u32 words[4] = {c0, c1, c2, c3};
  return (words[position % 4] >> 8) * 5.9604644775390625e-8f;
}

// Calls f(id, logit) for ids from `begin` to `end`, thread `index` of `count` in turn, four neighbours at a time where rows allow it.
template <class F> __device__ __forceinline__ void eachLogit(const float *row, int columns, int begin, int end, int index, int count, F f) {
  if (columns % 4 == 0)
    for (int id = begin + 4 * index; id < end; id += 4 * count) {
      float4 four = *(const float4 *)(row + id);
      f(id, four.x);
      f(id + 1, four.y);
      f(id + 2, four.z);
      f(id + 3, four.w);
    }
  else
    for (int id = begin + index; id < end; id += count) f(id, row[id]);
}

// What is kept: tokens whose key is above `key`, and those at `key` whose id is at most `id`.
struct Cut {
  u32 key;
  int id;
};
__device__ __forceinline__ bool kept(Cut cut, u32 key, int id) { return key > cut.key || (key == cut.key && id <= cut.id); }

// The shortest prefix, among the tokens that `within` keeps, whose sum of measure() reaches `enough`; all of them when none does.
// The search goes through the key's bits from the top (10 + 10 + 10 + 2), then through ids among equal keys.
template <class Measure>
__device__ __forceinline__ Cut cutAt(const float *row, int columns, Cut within, u64 enough, Measure measure) {
  __shared__ u64 histogram[bins];
  __shared__ u32 chosen;
  __shared__ u64 above;
  u64 reached = 0;
  u32 prefix = 0;
  for (int pass = 0; pass < 4; pass++) {
    int shift = pass < 3 ? 22 - 10 * pass : 0, width = pass < 3 ? 10 : 2, known = 10 * pass;
    for (int i = threadIdx.x; i < bins; i += blockDim.x) histogram[i] = 0;
    __syncthreads();
    eachLogit(row, columns, 0, columns, threadIdx.x, blockDim.x, [&](int id, float logit) {
      u32 key = keyOf(logit);
      if (!kept(within, key, id) || (known > 0 && key >> (32 - known) != prefix)) return;
      u64 amount = measure(logit);
      if (amount > 0) atomicAdd(&histogram[key >> shift & ((1u << width) - 1)], amount);
    });
    __syncthreads();
    if (threadIdx.x == 0) {
      u64 total = reached;
      int bin = (1 << width) - 1;
      while (bin > 0 && total + histogram[bin] < enough) total += histogram[bin--];
      chosen = bin;
      above = total;
    }
    __syncthreads();
    prefix = prefix << width | chosen;
    reached = above;
    __syncthreads();
  }
  // Equal logits have equal amounts, so what remains is how many of them are needed, in order of id.
  u64 each = measure(floatOf(prefix));
  u64 needed = each == 0 || enough <= reached ? 1 : (enough - reached + each - 1) / each;
  __shared__ int lastId, equals;
  if (threadIdx.x == 0) {
    lastId = -1;
    equals = 0;
  }
  __syncthreads();
  eachLogit(row, columns, 0, columns, threadIdx.x, blockDim.x, [&](int id, float logit) {
    if (keyOf(logit) != prefix) return;
    atomicAdd(&equals, 1);
    atomicMax(&lastId, id);
  });
  __syncthreads();
  // More equal logits than are needed are rare: then one warp counts them in order of id.
  if ((u64)equals > needed && threadIdx.x < 32) {
    u64 seen = 0;
    int answer = columns;
    for (int base = 0; base < columns && answer == columns; base += 32) {
      int id = base + threadIdx.x;
      u32 equal = __ballot_sync(~0u, id < columns && keyOf(row[id]) == prefix);
      if (seen + __popc(equal) >= needed) {
        for (u64 left = needed - seen - 1; left > 0; left--) equal &= equal - 1;
        answer = base + __ffs(equal) - 1;
      }
      seen += __popc(equal);
    }
    if (threadIdx.x == 0) lastId = answer;
  }
  __syncthreads();
  return {prefix, lastId};
}

struct Draw {
  int token;
  double truncated;
};

// A key that at least topK logits reach, and few more: the topK-th largest of the groups' largest.
__device__ __forceinline__ u32 boundOf(float most, int topK) {
  __shared__ u32 largest[groups];
  __shared__ u32 bound;
  constexpr int each = 1024 / groups;
#pragma unroll
  for (int step = each / 2; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  if (threadIdx.x % each == 0) largest[threadIdx.x / each] = keyOf(most);
  __syncthreads();
  int own = threadIdx.x;
  if (own < groups) {
    int before = 0;
    for (int other = 0; other < groups; other++)
      before += largest[other] > largest[own] || (largest[other] == largest[own] && other < own);
    if (before == topK - 1) bound = largest[own];
  }
  __syncthreads();
  return bound;
}

// Candidates are (key, id) as one number, larger for what comes first in the ranking.
__device__ __forceinline__ u64 candidateOf(u32 key, int id) { return (u64)key << 32 | ~(u32)id; }
__device__ __forceinline__ int idOf(u64 candidate) { return ~(u32)candidate; }

// Thread 0 gets the draw from the first topK of `count` candidates.
template <class Weight>
__device__ __forceinline__ Draw drawFew(const u64 *candidates, int count, int topK, double topP, double minP, double uniform, Weight weight) {
  __shared__ u64 ranked[mostFew];
  __shared__ double weights[mostFew];
  __shared__ int byId[mostFew];
  __shared__ int kept;
  int own = threadIdx.x;
  if (own < count) {
    int before = 0;
    for (int other = 0; other < count; other++) before += candidates[other] > candidates[own];
    if (before < topK) {
      ranked[before] = candidates[own];
      weights[before] = weight(floatOf(candidates[own] >> 32));
    }
  }
  __syncthreads();
  if (own == 0) {
    kept = min(topK, count);
    if (topP < 1) {
      double all = 0, sum = 0;
      for (int i = 0; i < kept; i++) all += weights[i];
      for (int i = 0; i < kept; i++) {
        sum += weights[i];
        if (sum >= topP * all) kept = i + 1;
      }
    }
    while (kept > 1 && weights[kept - 1] < minP) kept--;
  }
  __syncthreads();
  if (own < kept) {
    int before = 0;
    for (int other = 0; other < kept; other++) before += idOf(ranked[other]) < idOf(ranked[own]);
    byId[before] = own;
  }
  __syncthreads();
  if (own != 0) return {0, 0};
  double total = 0;
  for (int i = 0; i < kept; i++) total += weights[byId[i]];
  double rest = uniform * total;
  int i = 0;
  while ((rest -= weights[byId[i]]) >= 0 && i < kept - 1) i++;
  return {idOf(ranked[byId[i]]), log(weights[byId[i]] / total)};
}

// The part of the sums in which `target` lies: the first that passes it, or the last with a sum. `before` grows by what lies before it.
__device__ __forceinline__ int chooseWarp(const double *sums, double &before, double target) {
  int last = 0;
  for (int w = 0; w < 32; w++)
    if (sums[w] > 0) last = w;
  for (int w = 0; w < last; w++) {
    if (sums[w] > 0 && before + sums[w] > target) return w;
    before += sums[w];
  }
  return last;
}

extern "C" __global__ void __launch_bounds__(1024, 1) sample(int *ids, int *tokens, float *logps, const float *logits, const int *slots,
                                                          const int *rows, const int *counts, int columns, int history, u32 key0,
                                                          u32 key1, u32 step, float temperature, int topK, double topP, double minP,
                                                          const u32 *streams) {
  if (streams != nullptr) {
    key0 = streams[3 * blockIdx.x];
    key1 = streams[3 * blockIdx.x + 1];
    step = streams[3 * blockIdx.x + 2];
  }
  int b = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float *row = logits + (i64)b * columns;
  // The largest logit, of equal ones that with the smaller id.
  float most = -infinity;
  int best = columns;
  eachLogit(row, columns, 0, columns, threadIdx.x, blockDim.x, [&](int id, float logit) {
    if (logit > most) {
      most = logit;
      best = id;
    }
  });
  __shared__ int firstBest;
  if (threadIdx.x == 0) firstBest = columns;
  float top = maxBlock(most);
  if (most == top && best < columns) atomicMin(&firstBest, best);
  bool few = temperature > 0 && topK > 0 && topK < columns && topK <= mostFew;
  __shared__ u64 candidates[room];
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  u32 bound = few ? boundOf(most, topK) : 0;
  // Warp w has the ids of the w-th 32nd.
  int share = ((columns + 31) / 32 + 31) / 32 * 32, begin = warp * share, end = min(columns, begin + share);
  double sum = 0;
  eachLogit(row, columns, begin, end, lane, 32, [&](int id, float logit) {
    sum += expf(logit - top);
    u32 key = keyOf(logit);
    if (!few || key < bound) return;
    int at = atomicAdd(&count, 1);
    if (at < room) candidates[at] = candidateOf(key, id);
  });
  double normaliser = sumBlock(sum);
  __syncthreads();
  int token = firstBest < columns ? firstBest : 0;
  double truncated = 0;
  float inverse = 1.f / temperature;
  auto weight = [=](float x) { return (double)expf((x - top) * inverse); };
  auto uniform = [=] { return (double)philoxUniform(key0, key1, counts[b], rows[b], step); };
  if (few && count <= room && firstBest < columns) {
    Draw draw = drawFew(candidates, count, topK, topP, minP, uniform(), weight);
    token = draw.token;
    truncated = draw.truncated;
  } else if (temperature > 0 && firstBest < columns) {
    auto fixed = [=](float x) { return (u64)(weight(x) * unit); };
    Cut cut = {0, columns};
    if (topK > 0 && topK < columns) cut = cutAt(row, columns, cut, topK, [](float) { return 1ull; });
    if (topP < 1) {
      double all = 0;
      eachLogit(row, columns, 0, columns, threadIdx.x, blockDim.x, [&](int id, float logit) {
        if (kept(cut, keyOf(logit), id)) all += weight(logit);
      });
      all = sumBlock(all);
      Cut shorter = cutAt(row, columns, cut, (u64)(topP * all * unit), fixed);
      // The prefix is never longer than before, whatever rounding did.
      if (shorter.key > cut.key || (shorter.key == cut.key && shorter.id < cut.id)) cut = shorter;
    }
    auto keeps = [=](int id, float logit) { return kept(cut, keyOf(logit), id) && (minP <= 0 || weight(logit) >= minP); };
    // The unit interval is shared in order of id. Where nothing is cut and the temperature is 1, the weights were summed above.
    bool all = temperature == 1 && cut.key == 0 && cut.id == columns && minP <= 0;
    double mine = all ? sum : 0;
    if (!all)
      eachLogit(row, columns, begin, end, lane, 32, [&](int id, float logit) {
        if (keeps(id, logit)) mine += weight(logit);
      });
    mine = sumWarp(mine);
    __shared__ double warpSums[32];
    __shared__ int drawn;
    if (lane == 0) warpSums[warp] = mine;
    if (threadIdx.x == 0) drawn = -1;
    __syncthreads();
    double total = 0, before = 0;
    for (int w = 0; w < 32; w++) total += warpSums[w];
    double target = uniform() * total;
    int chosen = chooseWarp(warpSums, before, target);
    // All warps sum a part each of the chosen 32nd, then one warp goes through one part, token by token.
    begin = chosen * share;
    end = min(columns, begin + share);
    int part = share / 32, ownBegin = min(end, begin + warp * part), ownEnd = min(end, ownBegin + part);
    mine = 0;
    for (int id = ownBegin + lane; id < ownEnd; id += 32)
      if (keeps(id, row[id])) mine += weight(row[id]);
    mine = sumWarp(mine);
    __syncthreads();
    if (lane == 0) warpSums[warp] = mine;
    __syncthreads();
    int within = chooseWarp(warpSums, before, target);
    if (warp == within) {
      int last = -1, found = -1;
      for (int base = ownBegin; base < ownEnd && found < 0; base += 32) {
        int id = base + lane;
        bool keep = id < ownEnd && keeps(id, row[id]);
        double until = keep ? weight(row[id]) : 0;
        for (int distance = 1; distance < 32; distance *= 2) {
          double other = __shfl_up_sync(~0u, until, distance);
          if (lane >= distance) until += other;
        }
        u32 crossing = __ballot_sync(~0u, keep && before + until > target), any = __ballot_sync(~0u, keep);
        if (any != 0) last = base + 31 - __clz(any);
        if (crossing != 0) found = base + __ffs(crossing) - 1;
        before += __shfl_sync(~0u, until, 31);
      }
      if (lane == 0) drawn = found >= 0 ? found : last;
    }
    __syncthreads();
    token = drawn >= 0 ? drawn : token;
    truncated = log(weight(row[token]) / total);
  }
  if (threadIdx.x != 0) return;
  i64 at = (i64)slots[b] * history + counts[b];
  ids[b] = token;
  tokens[at] = token;
  logps[2 * at] = truncated;
  logps[2 * at + 1] = row[token] - top - log(normaliser);
}
