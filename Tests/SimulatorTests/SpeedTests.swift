import BellhopTesting
import Testing

@testable import Simulator

@Suite(.closing) struct SpeedTests {
    let office = Office()

    @Test(.timeLimit(.minutes(5))) func `ten thousand tasks can be listed, and read in batches`() async throws {
        for index in 0..<10_000 { office.instance.addTask(title: "Task \(index)", assignedTo: "john.doe") }
        let ids = office.instance.tasks.prefix(100).map(\.id).joined(separator: ",")
        let clock = ContinuousClock()
        var client = try await office.open()
        var times: [Duration] = []
        for path in [
            "/api/x_snc_my_work/v1/tracker/task", "/api/x_snc_my_work/v1/tracker/task",
            "/api/now/v2/table/task?sysparm_query=sys_idIN\(ids)&sysparm_fields=sys_id,number,priority,state",
            "/api/now/v2/table/task?sysparm_query=active=true%5EORDERBYsys_created_on&sysparm_fields=sys_id,number&sysparm_limit=100",
        ] {
            let start = clock.now
            #expect(try await client.get(path).status == 200)
            times.append(clock.now - start)
        }
        let start = clock.now
        for index in 0..<200 { _ = try await client.comment("note \(index)", on: "INC0010001") }
        times.append(clock.now - start)
        print("list, kept list, 100 by sys_id, query of all, 200 comments:", times)
        #expect(office.instance.counts.trackerComments == 200)
    }
}
