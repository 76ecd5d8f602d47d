// NVCC:
// RUN: %kernelsmith run %x
// The device heap: linked lists of nodes from malloc, a tree built with new and placement new,
// arrays from one kernel used and freed by another, and malloc by a whole block.
#include "../check.h"

struct Node {
  int value;
  Node* next;
};

__device__ Node* g_lists[16];

__global__ void BuildLists(int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) return;
    node->value = i;
    Node** head = &g_lists[i % 16];
    Node* old = *reinterpret_cast<Node* volatile*>(head);
    while (true) {
      node->next = old;
      __threadfence();
      Node* seen = reinterpret_cast<Node*>(atomicCAS(reinterpret_cast<unsigned long long*>(head),
                                                     reinterpret_cast<unsigned long long>(old),
                                                     reinterpret_cast<unsigned long long>(node)));
      if (seen == old) break;
      old = seen;
    }
  }
}

__global__ void SumAndFreeLists(long long* sums, int* lengths) {
  long long sum = 0;
  int length = 0;
  for (Node* node = g_lists[threadIdx.x]; node != nullptr;) {
    sum += node->value;
    ++length;
    Node* next = node->next;
    free(node);
    node = next;
  }
  sums[threadIdx.x] = sum;
  lengths[threadIdx.x] = length;
}

struct Tree {
  int key;
  Tree *left = nullptr, *right = nullptr;
  __device__ explicit Tree(int k) : key(k) {}
  __device__ ~Tree() {
    delete left;
    delete right;
  }
  __device__ void Insert(int k) {
    Tree*& child = k < key ? left : right;
    if (child == nullptr) {
      child = new Tree(k);
    } else {
      child->Insert(k);
    }
  }
  __device__ int* Walk(int* out) const {
    if (left != nullptr) out = left->Walk(out);
    *out++ = key;
    return right != nullptr ? right->Walk(out) : out;
  }
};

__global__ void TreeSort(int* data, int n) {
  int* mine = data + threadIdx.x * n;
  Tree* tree = new Tree(mine[0]);
  for (int i = 1; i < n; ++i) tree->Insert(mine[i]);
  tree->Walk(mine);
  delete tree;
}

__device__ int* g_arrays[8];

__global__ void AllocateArrays() {
  __shared__ int* array;
  if (threadIdx.x == 0) array = static_cast<int*>(malloc(blockDim.x * sizeof(int)));
  __syncthreads();
  array[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) g_arrays[blockIdx.x] = array;
}

__global__ void UseArrays(int* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = g_arrays[blockIdx.x][blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) free(g_arrays[blockIdx.x]);
}

int main() {
  CUDA_OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  const int n = 1000;
  BuildLists<<<4, 64>>>(n);
  DeviceArray<long long> sums(16);
  DeviceArray<int> lengths(16);
  SumAndFreeLists<<<1, 16>>>(sums.data(), lengths.data());
  LAUNCH_OK();
  std::vector<long long> want(16);
  std::vector<int> want_lengths(16);
  for (int i = 0; i < n; ++i) {
    want[i % 16] += i;
    ++want_lengths[i % 16];
  }
  ExpectEqual("sums", sums.Get(), want);
  ExpectEqual("lengths", lengths.Get(), want_lengths);

  const int threads = 20, each = 15;
  Random random(271);
  std::vector<int> data = random.Ints(threads * each, 0, 1000);
  DeviceArray<int> device(data);
  TreeSort<<<1, threads>>>(device.data(), each);
  LAUNCH_OK();
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < each; ++i) {
      for (int j = i + 1; j < each; ++j) {
        if (data[t * each + j] < data[t * each + i])
          std::swap(data[t * each + i], data[t * each + j]);
      }
    }
  }
  ExpectEqual("tree sort", device.Get(), data);

  AllocateArrays<<<8, 48>>>();
  DeviceArray<int> out(8 * 48);
  UseArrays<<<8, 48>>>(out.data());
  LAUNCH_OK();
  std::vector<int> want_out;
  for (int b = 0; b < 8; ++b) {
    for (int t = 0; t < 48; ++t) want_out.push_back(b * 100 + 47 - t);
  }
  ExpectEqual("arrays", out.Get(), want_out);
  std::printf("list 0 sums to %lld\n", want[0]);
  return Finish();
}
