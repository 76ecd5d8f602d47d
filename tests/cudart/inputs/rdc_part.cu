static __device__ int factor = 2;
__device__ int counter = 0;

__device__ int Twice(int x) { return factor * x; }

__global__ void AddHundred() { counter += 100; }

int CountedAfterHundredMore() {
  AddHundred<<<1, 1>>>();
  int counted = -1;
  cudaMemcpyFromSymbol(&counted, counter, sizeof(int));
  return counted;
}
