import BellhopCore
import Testing

@testable import BellhopStore

@Suite struct `Tasks kept in memory` {
    private static let scope = Scope.ID(text: "scope")
    private static let tasks = [Snapshot(key: TaskKey("a"))]

    private static var cache: TaskCache {
        var cache = TaskCache()
        cache.keep(tasks, of: scope, at: 1)
        return cache
    }

    @Test func `tasks that nobody needed since the last time are forgotten`() {
        var cache = Self.cache
        cache.forgetUnneeded()
        #expect(cache.keeps(Self.scope))
        cache.forgetUnneeded()
        #expect(!cache.keeps(Self.scope))
    }

    @Test func `tasks that a rule needs stay`() {
        var cache = Self.cache
        for _ in 0..<3 {
            cache.forgetUnneeded()
            #expect(cache.tasks(of: Self.scope, at: 1) == Self.tasks)
        }
    }
}
