extension Array where Element: Sendable {
    /// What `work` makes of the elements, one stretch of them after the other: of many elements, on as many cores as there are.
    ///
    /// - Parameter length: how many elements a stretch has; so few are worked on at once, here.
    /// - Returns: for each stretch, in order, what was made of it.
    public func inStretches<Result: Sendable>(
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
