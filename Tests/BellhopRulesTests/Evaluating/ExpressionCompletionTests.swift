import BellhopCore
import BellhopRules
import Testing

@Suite struct ExpressionCompletionTests {
    private let bench = ExpressionBench(
        Fixture.context(), subject: .event(Fixture.event(data: ["user": "eve", "detail": ["code": 1]])))

    @Test(arguments: [
        ("ta", ["task", "tasks"]), ("task.pri", ["priority"]), ("1 + task.nu", ["number"]), ("event.ty", ["type"]),
        ("event.data.", ["detail", "task", "user"]), ("event.data.detail.c", ["code"]), ("changes.prio", ["priority"]),
        ("changes.state.f", ["from"]), ("before.sta", ["state"]), ("task.?sta", ["state"]), ("ag", ["age("]),
        ("math.ro", ["round("]),
        ("task.title.startsW", ["startsWith("]), ("task.labels.stat", ["state"]), ("tasks.exi", ["exists(", "exists_one("]),
        ("tasks.filter(t, t.pri", ["priority"]), ("tasks.filter(t, true).map(x, x.pri", ["priority"]),
        ("changed(\"pri", ["priority\""]), ("label('pri", ["priority'"]), ("'ta", []), ("task.title == \"ta", []),
        ("mat", ["matches(", "math."]),
        ("size(tasks.fil", ["filter("]), ("\"a\" == ta", ["task", "tasks"]), ("unknown.zzz", []),
        ("x.y.z.startsW", ["startsWith("]), ("snap", ["snapshot("]), ("snapshot(\"inc", ["incidents\""]),
        ("snapshot(\"incidents\").exi", ["exists(", "exists_one("]),
        ("snapshot(\"incidents\").exists(i, i.co", ["cost"]),
        ("snapshot(\"my-work\").filter(t, true).map(t, t.par", ["parent"]),
    ])
    func `names that may follow are offered as completions`(_ text: String, _ wanted: [String]) {
        #expect(bench.completion(before: text).names == wanted)
    }

    @Test func `without an event, completions contain no parts of events`() {
        let bench = ExpressionBench(Fixture.context())
        #expect(bench.completion(before: "ta").names == ["tasks"])
        #expect(bench.completion(before: "eve").names == [])
        #expect(bench.completion(before: "chan").names == [])
    }

    @Test func `completed expressions are valid`() throws {
        // Every offered macro on a list exists.
        for name in bench.completion(before: "tasks.").names where name.hasPrefix("transform") {
            let extra = name == "transformMapEntry(" ? "{i: v}" : "v"
            #expect(throws: Never.self) { try bench.compile("tasks.\(name)i, v, \(extra))") }
        }
        #expect(throws: Never.self) { try bench.compile("tasks.sortBy(t, t.number).exists_one(t, t.active)") }
        #expect(bench.completion(before: "task.").names.contains("assigned_to"))
    }

    @Test func `completions have a common prefix`() {
        #expect(ExpressionCompletion(stem: "t", names: ["task", "tasks"]).common == "task")
        #expect(ExpressionCompletion(stem: "t", names: []).common == "t")
    }
}
