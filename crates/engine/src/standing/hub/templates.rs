//! Templates of a hub: registered by one table of constants, and instances that come and go afterwards.
//!
//! A table is read, and its terms get their ids, before the hub is asked for anything ([`ReadTemplate`], [`ReadInstances`]): a
//! million rows take seconds, and streams go on meanwhile.

use super::super::instances::{Binding, Bindings, Instances};
use super::super::log::messages::Message;
use super::super::many::Many;
use super::super::reading::read_template;
use super::Hub;
use crate::budget::{Budget, Pool};
use crate::database::Database;
use crate::error::{Kind, QueryError};
use query::standing::{StandingQuery, StandingTemplate};
use rdf::dictionary::TermCounts;

/// A template with its instances, ready to be registered.
pub(in crate::standing) struct ReadTemplate {
    query: StandingQuery,
    many: Box<Many>,
    added: u64,
    /// The terms that there were afterwards.
    given: TermCounts,
}

impl ReadTemplate {
    /// Reads a template and its table. `name` says what a query is called whose text gives this name, or that the name is
    /// taken. Errors: of the text, of a row, of memory.
    pub(in crate::standing) fn read(
        database: &Database,
        text: &str,
        mut bindings: Bindings<'_>,
        name: impl FnOnce(Option<&str>) -> Result<String, QueryError>,
    ) -> Result<ReadTemplate, QueryError> {
        let template = read_template(database, text, &bindings.parameters)?;
        let name = name(template.query.name.as_deref())?;
        let shared = database.shared();
        let budget = Budget::new(&shared.pool, shared.options.query_memory_bytes);
        let mut many = Box::new(Many::new(&template, name, bindings.parameters, budget));
        let max = many.instances_max();
        let mut given = TermCounts::default();
        let rows = &mut *bindings.rows;
        let added = many.instances.add(database, &mut given, rows, max)?;
        Ok(ReadTemplate {
            query: template.query,
            many,
            added,
            given,
        })
    }
}

/// What the rows of a template are.
pub(in crate::standing) struct TemplateShape {
    parameters: Vec<String>,
    /// How many there may be, and what to do about more.
    max: Option<(usize, &'static str)>,
}

/// Instances of a template that is there, ready to be added.
pub(in crate::standing) struct ReadInstances {
    instances: Instances,
    /// The terms that there were afterwards.
    given: TermCounts,
}

impl ReadInstances {
    /// Reads the table of a template's instances. What they hold is drawn on the memory of queries. Errors: of the columns, of a row, of
    /// memory.
    pub(in crate::standing) fn read(
        database: &Database,
        template: &str,
        shape: TemplateShape,
        mut bindings: Bindings<'_>,
    ) -> Result<ReadInstances, QueryError> {
        let places = places_of(&shape.parameters, &bindings.parameters)?;
        let mut rows = std::iter::from_fn(|| {
            let row = bindings.rows.next()?;
            Some(row.map(|row| {
                let term = |at: &usize| row.terms.get(*at).cloned();
                Binding {
                    terms: places.iter().filter_map(term).collect(),
                    name: row.name,
                }
            }))
        });
        let shared = database.shared();
        let budget = Budget::new(&shared.pool, shared.options.query_memory_bytes);
        let mut instances = Instances::new(template.to_owned(), shape.parameters, budget);
        let mut given = TermCounts::default();
        instances.add(database, &mut given, &mut rows, shape.max)?;
        Ok(ReadInstances { instances, given })
    }
}

impl Hub {
    /// Registers a template from this moment on, by the name that its text gives or else this one, with an instance for
    /// each row of a table of constants; gives its name and the number of instances. Needs `query::STACK_BYTES_MIN`
    /// (2 MiB) of stack.
    ///
    /// Costs about a microsecond an instance and parameter; what instances hold is drawn on the memory of queries. On an
    /// error nothing is registered.
    pub fn register_table(
        &mut self,
        text: &str,
        otherwise: &str,
        bindings: Bindings<'_>,
        at_ms: u64,
    ) -> Result<(String, u64), QueryError> {
        let name = |given: Option<&str>| self.free_name(given.unwrap_or(otherwise));
        let read = ReadTemplate::read(self.base.database()?, text, bindings, name)?;
        self.register_read(read, otherwise, text, Some(at_ms))
    }

    /// The same of a template that was read, by default from where its streams are.
    pub(in crate::standing) fn register_read(
        &mut self,
        read: ReadTemplate,
        otherwise: &str,
        text: &str,
        at_ms: Option<u64>,
    ) -> Result<(String, u64), QueryError> {
        let at_ms = match at_ms {
            Some(at_ms) => at_ms,
            None => self.reached_ms(&read.query)?,
        };
        self.terms.given = self.terms.given.or_more(read.given);
        let many = Some(read.many);
        let name = self.register_text(read.query, many, otherwise, Some(text), at_ms)?;
        Ok((name, read.added))
    }

    /// Adds instances to a template, a row each; gives their number. The columns are the template's parameters, in any
    /// order. On an error none is added.
    pub fn add_instances(
        &mut self,
        template: &str,
        bindings: Bindings<'_>,
    ) -> Result<u64, QueryError> {
        let shape = self.template_shape(template)?;
        let read = ReadInstances::read(self.base.database()?, template, shape, bindings)?;
        self.add_read(template, read)
    }

    /// What the rows of a template are.
    pub(in crate::standing) fn template_shape(
        &mut self,
        template: &str,
    ) -> Result<TemplateShape, QueryError> {
        let many = self.many(template)?;
        Ok(TemplateShape {
            parameters: many.instances.parameters.clone(),
            max: many.instances_max(),
        })
    }

    /// Adds instances that were read.
    pub(in crate::standing) fn add_read(
        &mut self,
        template: &str,
        read: ReadInstances,
    ) -> Result<u64, QueryError> {
        let many = self.many(template)?;
        if many.instances.parameters != read.instances.parameters {
            let message = format!("the template `{template}` was registered again meanwhile");
            return Err(QueryError::new(Kind::Conflict, message));
        }
        let (max, before) = (many.instances_max(), many.instances.made());
        let added = many.instances.take_in(read.instances, max)?;
        self.terms.given = self.terms.given.or_more(read.given);
        let said = self.say_instances(template, before);
        if said.is_err() {
            self.many(template)?.instances.take_back(before);
        }
        said.map(|()| added)
    }

    /// Tells the log of the instances with numbers above this one.
    fn say_instances(&mut self, template: &str, after: u64) -> Result<(), QueryError> {
        let id = self.query(template)?;
        let many = self.queries[&id].many.as_deref();
        if many.is_none_or(|many| many.instances.made() == after) {
            return Ok(());
        }
        match self.kept_instances(many, after)? {
            Some(instances) => {
                let message = Message::AddInstances {
                    template: template.to_owned(),
                    instances,
                };
                self.say(&message).map(drop)
            }
            None => Ok(()),
        }
    }

    /// The instances of a template above a number as the log keeps them; `None` where nobody keeps one.
    pub(super) fn kept_instances(
        &self,
        many: Option<&Many>,
        after: u64,
    ) -> Result<Option<Vec<u8>>, QueryError> {
        let many = many.filter(|_| self.base.keeps_log());
        let Some(many) = many else {
            return Ok(None);
        };
        let graph = self.base.database()?.graph();
        let live = graph.dictionary.live();
        let terms = live.view(live.counts());
        many.instances.encode(after, &terms).map(Some)
    }

    /// A template that the log or a generation tells of.
    pub(in crate::standing) fn register_again(
        &mut self,
        template: &StandingTemplate,
        name: &str,
        text: &str,
        instances: &[u8],
        at_ms: u64,
    ) -> Result<(), QueryError> {
        // Of no pool yet: the database is not open.
        let budget = Budget::new(&Pool::new(u64::MAX), u64::MAX);
        let parameters = Instances::parameters_of(instances)?;
        let many = Box::new(Many::new(template, name.to_owned(), parameters, budget));
        let query = template.query.clone();
        self.register_text(query, Some(many), name, Some(text), at_ms)?;
        self.add_again(name, instances)
    }

    /// Instances that the log or a generation tells of.
    pub(in crate::standing) fn add_again(
        &mut self,
        template: &str,
        instances: &[u8],
    ) -> Result<(), QueryError> {
        let id = self.query(template)?;
        let Hub {
            base,
            terms,
            queries,
            ..
        } = self;
        let many = queries.get_mut(id).and_then(|it| it.many.as_mut());
        let Some(many) = many else {
            return Ok(());
        };
        base.with_dictionary(&mut terms.given, |live| {
            many.instances.restore(instances, live)
        })
    }

    /// Forgets an instance of a template.
    pub fn remove_instance(&mut self, template: &str, instance: &str) -> Result<(), QueryError> {
        self.need_instance(template, instance)?;
        self.say(&Message::DropInstance {
            template: template.to_owned(),
            instance: instance.to_owned(),
        })?;
        let many = self.many(template)?;
        many.instances.remove(instance);
        many.instances.account()
    }

    /// An error where a template has no such instance.
    pub(in crate::standing) fn need_instance(
        &mut self,
        template: &str,
        instance: &str,
    ) -> Result<(), QueryError> {
        if self.many(template)?.instances.has(instance) {
            return Ok(());
        }
        Err(no_instance(template, instance))
    }

    /// The instances of a template.
    fn many(&mut self, name: &str) -> Result<&mut Many, QueryError> {
        let id = self.query(name)?;
        let many = self.queries.get_mut(id).and_then(|it| it.many.as_mut());
        many.map(|many| &mut **many).ok_or_else(|| {
            let message =
                format!("the query `{name}` has no instances: it was registered without a table");
            QueryError::new(Kind::Conflict, message)
        })
    }
}

/// There is no such instance.
fn no_instance(template: &str, instance: &str) -> QueryError {
    let message = format!("the template `{template}` has no instance `{instance}`");
    QueryError::new(Kind::NotFound, message)
}

/// Where the parameters of a template are among the columns of a table.
fn places_of(parameters: &[String], columns: &[String]) -> Result<Vec<usize>, QueryError> {
    let place = |name: &String| columns.iter().position(|column| column == name);
    let places: Option<Vec<usize>> = parameters.iter().map(place).collect();
    match places {
        Some(places) if columns.len() == parameters.len() => Ok(places),
        _ => {
            let message = format!(
                "the table has the columns {}, the template has the parameters {}",
                columns.join(", "),
                parameters.join(", ")
            );
            Err(QueryError::new(Kind::Syntax, message))
        }
    }
}
