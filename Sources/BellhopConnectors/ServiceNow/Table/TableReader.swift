import BellhopCore

/// Reads a table page by page, with given fields; each call brings its query.
struct TableReader: Sendable {
    var session: ServiceNowSession
    var table: String
    /// The field paths of each row.
    var paths: [String]
    var display = Display.values
    /// The index or read replica to use; nil for the server's choice.
    var category: String?
    /// A read whose address is longer than this is sent in a batch.
    var longest = 2048
    var timeout: Duration?

    /// Where the rows and their ids are. With display values, a sys_id too is an object with both values.
    var shape: ListingShape {
        display == .values ? .serviceNow : ListingShape(items: ListingShape.serviceNow.items, key: ["sys_id", "value"])
    }

    /// At most `limit` rows of a query, from an offset.
    func page(_ query: EncodedQuery, offset: Int = 0, limit: Int) async throws(Failure) -> ServiceNowReply {
        var parameters = [
            ("sysparm_query", query.text), ("sysparm_fields", paths.joined(separator: ",")),
            ("sysparm_display_value", display.parameter), ("sysparm_exclude_reference_link", "true"),
            ("sysparm_suppress_pagination_header", "true"), ("sysparm_limit", String(limit)),
        ]
        if offset > 0 { parameters.append(("sysparm_offset", String(offset))) }
        if let category { parameters.append(("sysparm_query_category", category)) }
        var call = ServiceNowCall.table(table, parameters, expecting: .listing)
        call.timeout = timeout
        call.longest = longest
        do throws(Failure) {
            return try await session.send(call)
        } catch  where error.reason == .forbidden {
            throw Failure(
                .forbidden, error.remedy,
                "\(error.message) The account may not read the table \(table): give it a role that may, such as itil or snc_read_only, "
                    + "or take the source out.")
        }
    }

    /// The number of rows of a query, including hidden ones; nil if the account may not use this API.
    func count(_ query: EncodedQuery) async throws(Failure) -> Int? {
        let text = PercentEncoding.encode(query.text, keeping: "-._~,")
        var call = ServiceNowCall(
            target: "/api/now/v1/stats/\(table)?sysparm_count=true&sysparm_query=\(text)", expecting: .record)
        call.timeout = timeout
        call.longest = longest
        do throws(Failure) {
            return FieldValue(try await session.send(call).record["stats"]?["count"]).flatMap { Int($0.raw) }
        } catch  where [.forbidden, .goneOrHidden, .refused, .apiMissing].contains(error.reason) {
            return nil
        }
    }
}

extension ListingShape {
    /// The form of the Task Tracker and the Table API: `result`, and `sys_id` in each record.
    static let serviceNow = ListingShape(items: JSON.Path(keys: ["result"]), key: ["sys_id"])
}
