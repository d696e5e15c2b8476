import Testing

/// Waits until a condition is true, as long as a slow machine may need.
func eventually(_ description: String, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(100)
    while ContinuousClock.now < deadline {
        if condition() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("timed out waiting until \(description)", sourceLocation: sourceLocation)
}
