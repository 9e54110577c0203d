// Which keys a query sees. Keys of a segment are numbered as one list: first the prefix, then its own keys; query i of n sees
// the first (prefix + own − (n − 1 − i)) of them. The table is read from device memory: a replayed graph sees it grow.
struct Segment {
  int queryStart, queryEnd, prefixStart, prefixEnd, keyStart, keyEnd;
  __device__ __forceinline__ int queries() const { return queryEnd - queryStart; }
  __device__ __forceinline__ int prefix() const { return prefixEnd - prefixStart; }
  __device__ __forceinline__ int keys() const { return prefixEnd - prefixStart + keyEnd - keyStart; }
  __device__ __forceinline__ int visible(int query) const { return keys() - (queryEnd - 1 - query); }
  __device__ __forceinline__ int slot(int key) const { return key < prefix() ? prefixStart + key : keyStart + key - prefix(); }
};

// The last segment that starts at or before the query: segments cover the queries in order.
__device__ __forceinline__ Segment segmentOf(const Segment *segments, int count, int query) {
  int low = 0, high = count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (segments[middle].queryStart <= query) low = middle;
    else high = middle - 1;
  }
  return segments[low];
}
