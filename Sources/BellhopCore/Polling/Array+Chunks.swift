extension Array where Element: Sendable {
    /// Applies `work` to chunks of the array, for a long array in parallel on all cores.
    ///
    /// - Parameter length: the length of a chunk; an array up to this length is processed in place.
    /// - Returns: the result for each chunk, in order.
    public func inChunks<Result: Sendable>(
        of length: Int = 2048, _ work: @escaping @Sendable (ArraySlice<Element>) -> Result
    ) async -> [Result] {
        guard count > length else { return isEmpty ? [] : [work(self[...])] }
        return await withTaskGroup { group in
            let starts = Swift.stride(from: 0, to: count, by: length)
            for (number, start) in starts.enumerated() {
                group.addTask { (number, work(self[start..<Swift.min(start + length, count)])) }
            }
            var results = [Result?](repeating: nil, count: starts.underestimatedCount)
            for await (number, result) in group { results[number] = result }
            return results.compactMap(\.self)
        }
    }
}

extension Array {
    /// The first index whose element fits, by binary search: all fitting elements must be at the end.
    @inlinable public func partitioningIndex(_ fits: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if fits(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension Sequence where Element: Hashable {
    /// The elements without repetitions, in the order in which they first occur.
    public func unique() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
